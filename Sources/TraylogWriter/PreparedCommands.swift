import TraylogDomain
import TraylogLog
import TraylogPlatform

/// Commands with all that can be done for them without the store's state: checked, named by identities and, where
/// the event does not depend on the state, encoded.
///
/// Made on the caller's thread, so that the writer's has less to do.
package struct PreparedCommands: Sendable {
    struct Entry: BitwiseCopyable, Sendable {
        var user = Identity.absent
        /// Of a command with a key; else 0.
        var fingerprint: UInt64 = 0
        /// Of a `notify`.
        var key = Identity.absent
        /// The fact of a valid `notify`, if it is compact; nothing in it depends on the state.
        var notice: CompactFact?
        /// Where the event's payload stands in ``payloads``, when it is there.
        var payloadStart = 0
        var payloadEnd = 0

        var payload: Range<Int> { payloadStart..<payloadEnd }

        /// Whether it is a valid `notify`.
        var isEncoded: Bool { payloadEnd > payloadStart }
    }

    /// From this many commands on they bring their events' salts along; below, a draw by the writer costs less.
    static let saltedCommands = 128
    /// Room reserved before a payload is encoded.
    private static let largePayload = 4_096

    let commands: [Command]
    private(set) var entries: [Entry] = []
    private(set) var payloads: [UInt8] = []
    /// The most bytes that the events of commands not encoded yet can take.
    private var unencodedBytes = 0
    /// An upper bound of the bytes of the events.
    var byteCount: Int { payloads.count + unencodedBytes }
    /// The facts of other valid `notify` commands, without their seqs, by index.
    private var facts: [Int: Fact] = [:]
    /// Two words for each command, or nothing.
    private var salts: [UInt64] = []
    /// Commands that are refused whatever the state is, by index.
    private(set) var refusals: [Int: Refusal] = [:]
    /// Whether ``look(in:)`` may save the writer work.
    package private(set) var wantsLook = false
    /// Whether an answer is among them that names the state which was on the screen.
    package private(set) var comparesEdits = false
    var undos: [PreparedUndo] = []
    /// By index, the topic in which a change of a broadcast that has left the log was performed before; nil inside for none.
    var topics: [Int: String?] = [:]

    package init(_ commands: [Command], hasher: IdentityHasher) {
        self.commands = commands
        entries.reserveCapacity(commands.count)
        // A lone payload gets just the room that it may need: little memory comes and goes much faster.
        if commands.count > 1 { payloads.reserveCapacity(commands.count * 192 + PreparedCommands.largePayload) }
        if commands.count >= PreparedCommands.saltedCommands { drawSalts() }
        for index in commands.indices {
            do throws(Refusal) {
                entries.append(try prepare(index, hasher))
            } catch {
                refusals[index] = error
                entries.append(Entry())
            }
        }
    }

    /// The fact of a `notify`, without its seq; nil for other commands.
    func fact(_ index: Int) -> Fact? {
        entries[index].notice?.fact(seq: 0) ?? facts[index]
    }

    /// The times that a `notify` sets.
    func times(_ index: Int) -> FactTimes {
        guard case .notify(let content) = commands[index].action else { return FactTimes() }
        return FactTimes(due: content.expiresAt, remindAt: content.remindAt)
    }

    /// Random bytes for the event of the command; nil when there are none yet.
    func salt(_ index: Int) -> Salt? {
        salts.isEmpty ? nil : Salt(salts[2 * index], salts[2 * index + 1])
    }

    private mutating func drawSalts() {
        var random = RandomPool()
        salts.reserveCapacity(2 * commands.count)
        for _ in commands.indices {
            let (first, second) = random.next16()
            salts.append(first)
            salts.append(second)
        }
    }

    /// A command whose event depends on the state.
    private mutating func prepareUnencoded(_ index: Int, _ hasher: IdentityHasher) throws(Refusal) -> Entry {
        if commands[index].wantsLook { wantsLook = true }
        if case .act(_, _, _, .some) = commands[index].action { comparesEdits = true }
        try commands[index].validate()
        unencodedBytes += commands[index].largestEventBytes
        var entry = Entry()
        entry.identify(commands[index], hasher)
        return entry
    }

    private mutating func prepare(_ index: Int, _ hasher: IdentityHasher) throws(Refusal) -> Entry {
        // Fields are taken one by one: copying the command would retain each of its strings.
        guard case .notify(let content) = commands[index].action else { return try prepareUnencoded(index, hasher) }
        // Whether its time has come is known when its turn comes.
        if content.notBefore != nil { return try prepareUnencoded(index, hasher) }
        let (user, key) = (commands[index].user, commands[index].key)
        let (actor, device) = (commands[index].actor, commands[index].device)
        try Command.validateNotify(
            user: user, key: key, occurredAt: commands[index].occurredAt, actor: actor, device: device, content)
        var entry = Entry()
        if let user { entry.user = hasher.identity(of: user, as: .user) }
        if key != nil { entry.fingerprint = CommandFingerprint.of(commands[index]) }
        let fact = Fact(seq: 0, notified: content, key: key, hasher: hasher)
        entry.key = fact.key
        // What becomes due is noted by the longer way.
        if content.expiresAt == nil { entry.notice = CompactFact(fact) }
        if entry.notice == nil { facts[index] = fact }
        if commands.count > 1 { payloads.growGeometrically(for: PreparedCommands.largePayload) }
        entry.payloadStart = payloads.count
        PayloadEncoder.append(
            user: user, key: key, actor: actor, device: device, commandFingerprint: entry.fingerprint,
            notified: content, to: &payloads)
        entry.payloadEnd = payloads.count
        return entry
    }
}

extension Command {
    /// Whether the writer would have to look far: through a user's past, or through all topics.
    fileprivate var wantsLook: Bool {
        switch action {
        case .undo: true
        case .edit, .retract: user == nil && key != nil
        default: false
        }
    }
}

extension PreparedCommands.Entry {
    fileprivate mutating func identify(_ command: Command, _ hasher: IdentityHasher) {
        if let name = command.user { user = hasher.identity(of: name, as: .user) }
        if command.key != nil { fingerprint = CommandFingerprint.of(command) }
    }
}
