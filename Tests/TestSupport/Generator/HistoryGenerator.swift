import TraylogDomain

/// Random commands that affect each other: a history that depends only on the seed and the mix.
///
/// Commands look at the naive store's state, so that most of them name something that exists; a realistic share
/// is refused, unchanged or sent twice.
///
/// ```swift
/// var generator = HistoryGenerator(seed: 7, mix: .typical)
/// var naive = NaiveStore()
/// for _ in 0..<100 { generator.advance(&naive) }
/// ```
package struct HistoryGenerator: Sendable {
    package let mix: HistoryMix
    package var random: SeededRandom
    /// The time of the next step; goes on by itself and sometimes steps back.
    ///
    /// It is later than any real clock.
    package private(set) var now = Timestamp(milliseconds: 4_000_000_000_000)
    /// The latest that it was.
    private(set) var latest = Timestamp(milliseconds: 0)
    let users: [String]
    let threads: [String]
    let categories: [String]
    let topics: [String]
    private var keyed: [Command] = []

    package init(seed: UInt64, mix: HistoryMix) {
        self.mix = mix
        random = SeededRandom(seed: seed)
        users = HistoryNames.names(mix.users, "user")
        threads = HistoryNames.names(mix.threads, "thread")
        categories = HistoryNames.categories(mix.categories)
        topics = HistoryNames.names(mix.topics, "topic")
    }

    /// The user who gets the mix's `heavyPercent` of the commands.
    package var heavyUser: String { users[0] }

    /// The next step, given what the naive store holds by now.
    package mutating func next(given store: NaiveStore) -> HistoryStep {
        let passed = random.chance(5) ? -random.below(2_000) : random.below(1_000)
        now = Timestamp(milliseconds: now.milliseconds + Int64(passed))
        latest = max(latest, now)
        if mix.features.contains(.ticks), random.chance(4) { return .tick(time(around: 0)) }
        if !keyed.isEmpty, random.chance(mix.resentPercent) { return .command(resent()) }
        var command = fresh(given: store)
        if random.chance(10) { command.occurredAt = time(around: -5_000) }
        if random.chance(10) { command.actor = "someone" }
        if random.chance(10) { command.device = "phone 📱" }
        if random.chance(15) { command.key = "k\(random.below(1 + store.events.count))" }
        if random.chance(8) {
            command.expectedRevision = store.revision(of: command).map { $0 + (random.chance(30) ? 1 : 0) }
        }
        if random.chance(mix.invalidPercent) { command = spoiled(command) }
        if command.key != nil { keyed.append(command) }
        return .command(command)
    }

    /// Performs the next step on the naive store alone.
    @discardableResult
    package mutating func advance(_ store: inout NaiveStore) -> Result<Receipt, Refusal> {
        switch next(given: store) {
        case .command(let command): return store.perform(command, now: now)
        case .tick(let time):
            store.tick(time, now: now)
            return .success(.unchanged)
        }
    }

    private mutating func resent() -> Command {
        // A time that has passed here has not passed by a real clock, so a store would still schedule what this model would
        // not. Resent commands are the only ones that can have one.
        keyed.removeAll { $0.action.notBefore.map { $0 <= latest } ?? false }
        var command = keyed.isEmpty ? Command(user: heavyUser, .seeTray()) : random.pick(keyed)
        guard random.chance(40) else { return command }
        switch random.below(3) {
        case 0: command.occurredAt = time(around: 0)
        case 1: command.device = "other device"
        default:
            if command.user != nil { command.action = .seeTray() }
        }
        return command
    }

    mutating func time(around offset: Int64) -> Timestamp {
        Timestamp(milliseconds: now.milliseconds + offset + Int64(random.between(-3_000, 3_000)))
    }
}

extension Command.Action {
    fileprivate var notBefore: Timestamp? {
        switch self {
        case .notify(let content), .broadcast(_, let content): content.notBefore
        default: nil
        }
    }
}
