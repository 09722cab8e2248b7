import TraylogDomain

/// The library's fold over the events of a file, one after the other, without a store.
///
/// It keeps facts and no content: some 200 bytes for each event, whatever it says. For one thread.
package final class CompleteFold: HistoryInMemory {
    package typealias Pages = NoStoredPages

    package private(set) var state = TrayState()
    /// A key of its own: names that somebody chose to collide under one key do not collide under this one.
    let hasher = IdentityHasher(key0: .random(in: .min ... .max), key1: .random(in: .min ... .max))
    /// The newest event; 0 before the first.
    private(set) var last: UInt64 = 0
    /// Ascending.
    private var facts: [Fact] = []
    private var times: [Timestamp] = []
    package private(set) var topics: [Identity: [UInt64]] = [:]
    private var categories: [Identity: String] = [:]
    package private(set) var landmarks: [TrayState] = []

    package init() {}

    /// Folds the next event in.
    ///
    /// - Parameter topic: whose event it is; nil for one of the user's own.
    /// - Returns: whether it reached the tray: as an own event, or as one that concerns an item of the tray.
    package func take(_ event: Event, ofTopic topic: String?) throws -> Bool {
        let fact = Fact(event, hasher: hasher)
        let (seq, category) = (fact.seq, event.content?.category)
        facts.append(fact)
        times.append(event.recordedAt)
        if let category { categories[fact.category] = category }
        defer { last = seq }
        guard let topic else {
            try catchUp(own: seq, through: seq)
            return true
        }
        let identity = hasher.identity(of: topic, as: .topic)
        topics[identity, default: []].append(seq)
        try catchUp(own: 0, through: seq)
        let item = fact.kind == .broadcast ? seq : fact.target
        return try state.entry(of: item, stored: NoStoredPages()) != nil
    }

    private func catchUp(own: UInt64, through end: UInt64) throws {
        var state = TrayState()
        // Out of `self`, so that it is changed in place.
        swap(&state, &self.state)
        defer { swap(&state, &self.state) }
        try state.catchUp(
            own: own, through: end, stored: NoStoredPages(), history: self, next: { _ in 0 },
            landmark: { landmarks.append(copy $0) })
    }

    /// The tray after the newest event.
    package func tray(of user: String, asOf seq: UInt64) throws -> Tray {
        try state.tray(of: user, asOf: Seq(seq), source: self)
    }
}

extension CompleteFold {
    private func place(_ seq: UInt64) throws -> Int {
        let place = facts.bisect { $0.seq < seq }
        guard place < facts.count, facts[place].seq == seq else { throw NotInFile(seq: seq) }
        return place
    }

    package func fact(_ seq: UInt64) throws -> Fact { facts[try place(seq)] }
    package func recordedAt(_ seq: UInt64) throws -> Timestamp { times[try place(seq)] }
    /// Content is not kept.
    package func event(_ seq: UInt64) throws -> Event { throw NotInFile(seq: seq) }
    package func category(_ count: CategoryCount) -> String? { categories[count.category] }
}

/// A fold needs an event that the file does not have.
package struct NotInFile: Error {
    package let seq: UInt64
}
