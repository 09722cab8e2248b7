import TestSupport

@testable import TraylogDomain

/// The log of a naive store as a fold reads it.
struct StreamLog {
    private(set) var events: [Event] = []
    private(set) var facts: [Fact] = []
    /// Seqs of each topic's events.
    private(set) var topics: [Identity: [UInt64]] = [:]
    private(set) var own: [UInt64] = []
    let user: String
    let hasher: IdentityHasher
    private var topicOfItem: [Seq: Identity] = [:]

    init(user: String, hasher: IdentityHasher) { (self.user, self.hasher) = (user, hasher) }

    var head: UInt64 { UInt64(events.count) }

    mutating func take(_ newer: [Event]) {
        for event in newer.dropFirst(events.count) {
            events.append(event)
            facts.append(Fact(event, hasher: hasher))
            if Name(event.user) == Name(user) { own.append(event.seq.rawValue) }
            guard event.user == nil else { continue }
            switch event.body {
            case .broadcast(let topic, _): topicOfItem[event.seq] = hasher.identity(of: topic, as: .topic)
            case .edited(let item, _), .retracted(let item), .expired(let item), .reminded(let item),
                .arrived(let item, _, _, _, _):
                topicOfItem[event.seq] = topicOfItem[item]
            default: break
            }
            if let topic = topicOfItem[event.seq] { topics[topic, default: []].append(event.seq.rawValue) }
        }
    }
}

/// One user's state, kept up with a log in one of several ways.
struct StreamFold {
    struct Way: Sendable {
        var landmarkDistance: UInt64 = 9
        var keepsLandmarks = true
        /// In percent, before each catching up.
        var flushes = 0
        var reloads = 0
    }

    let way: Way
    private(set) var state: TrayState
    private(set) var versions = PageVersions()
    private var landmarks: [TrayState] = []

    init(_ way: Way) {
        self.way = way
        state = TrayState(landmarkDistance: way.landmarkDistance)
    }

    var landmarkCount: Int { landmarks.count }

    func source(_ log: StreamLog) -> VersionSource { VersionSource(versions: versions, log: log.events) }

    mutating func catchUp(_ log: StreamLog, _ random: inout SeededRandom) throws {
        if random.chance(way.flushes) { versions.flush(&state) }
        if random.chance(way.reloads), !versions.root.isEmpty {
            state = try versions.root.unpacked(TrayState.init(from:))
        }
        let own = log.own.drop { $0 <= state.appliedSeq }
        var index = own.startIndex
        var reached: [TrayState] = []
        let stored = source(log)
        let left = try state.catchUp(
            own: own.first ?? 0, through: log.head, stored: stored, history: history(log),
            next: { _ in
                index += 1
                return index < own.endIndex ? own[index] : 0
            }, landmark: { reached.append(copy $0) })
        guard left == 0 else { throw RowSource.MissingEvent() }
        let last = landmarks.last?.appliedSeq ?? 0
        if way.keepsLandmarks { landmarks += reached.filter { $0.appliedSeq > last } }
    }

    /// The state and the pages of the past, as queries take them.
    func past(_ seq: UInt64, _ log: StreamLog) throws -> (state: TrayState, source: VersionSource) {
        var source = source(log)
        guard seq < state.appliedSeq else { return (state, source) }
        let voidings = try state.voidings(stored: source).filter { $0.undone <= seq }
        let past = try TrayState.state(at: seq, of: state, without: voidings, stored: source, history: history(log))
        source.moment = past.pages?.moment ?? 0
        return (past.state, source)
    }

    private func history(_ log: StreamLog) -> StreamHistory {
        StreamHistory(log: log, versions: versions, landmarks: landmarks)
    }
}

/// The past as a fold in memory has it.
struct StreamHistory: FoldHistory {
    let log: StreamLog
    let versions: PageVersions
    let landmarks: [TrayState]

    func fact(_ seq: UInt64) -> Fact { log.facts[Int(seq) - 1] }

    func events(ofTopic topic: Identity, after seq: UInt64, through end: UInt64) -> [UInt64] {
        (log.topics[topic] ?? []).filter { $0 > seq && $0 <= end }
    }

    func landmark(atOrBefore seq: UInt64) -> Landmark<VersionSource>? {
        guard let found = landmarks.last(where: { $0.appliedSeq <= seq }) else { return nil }
        let pages = VersionSource(versions: versions, log: log.events, moment: found.appliedSeq)
        return Landmark(state: found, pages: pages)
    }

    func firsts(of space: PageSpace, changedSince seq: UInt64) -> [UInt64] {
        versions.firsts(of: space, changedSince: seq)
    }
}
