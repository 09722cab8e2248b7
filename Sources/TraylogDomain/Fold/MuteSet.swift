/// What a user has muted: everything, threads, categories and topics, each by itself.
package struct MuteSet: Hashable, Sendable {
    /// A mute in force.
    package struct Entry: Hashable, Sendable {
        /// The thread, the category or the topic; absent for everything.
        package var identity: Identity
        /// The `muted` with which it began.
        package var since: UInt64
        /// The newest `muted`, which says until when.
        package var by: UInt64

        package init(identity: Identity, since: UInt64, by: UInt64) {
            (self.identity, self.since, self.by) = (identity, since, by)
        }
    }

    package internal(set) var all: Entry?
    /// Threads and topics, whose identities differ; ascending, as are ``categories``.
    package internal(set) var threads: [Entry] = []
    package internal(set) var categories: [Entry] = []

    package init() {}

    package var isEmpty: Bool { all == nil && threads.isEmpty && categories.isEmpty }
    package var count: Int { threads.count + categories.count + (all == nil ? 0 : 1) }
    package var entries: [Entry] { (all.map { [$0] } ?? []) + categories + threads }

    package func entry(of scope: MuteScope, _ hasher: IdentityHasher) -> Entry? {
        switch scope {
        case .all: all
        case .thread(let name): threads.entry(of: hasher.identity(of: name, as: .thread))
        case .category(let name): categories.entry(of: hasher.identity(of: name, as: .category))
        case .topic(let name): threads.entry(of: hasher.identity(of: name, as: .topic))
        }
    }

    /// Whether an item that arrives now is muted.
    ///
    /// - Parameter topic: absent for one that came through none.
    func cover(_ fact: borrowing Fact, topic: Identity) -> Bool {
        if all != nil, !fact.isCritical { return true }
        if topic != .absent, threads.entry(of: topic) != nil { return true }
        if fact.thread != .absent, threads.entry(of: fact.thread) != nil { return true }
        return fact.category != .absent && categories.entry(of: fact.category) != nil
    }

    /// Begins a mute, or gives the one that holds another end.
    mutating func mute(_ fact: borrowing Fact) {
        if fact.thread != .absent || fact.topic != .absent {
            threads.mute(fact.thread != .absent ? fact.thread : fact.topic, by: fact.seq)
        } else if fact.category != .absent {
            categories.mute(fact.category, by: fact.seq)
        } else {
            all = Entry(identity: .absent, since: all?.since ?? fact.seq, by: fact.seq)
        }
    }

    mutating func unmute(_ fact: borrowing Fact) {
        if fact.thread != .absent || fact.topic != .absent {
            let identity = fact.thread != .absent ? fact.thread : fact.topic
            threads.removeAll { $0.identity == identity }
        } else if fact.category != .absent {
            categories.removeAll { $0.identity == fact.category }
        } else {
            all = nil
        }
    }

    /// Adds a mute that a snapshot names.
    package mutating func add(_ scope: MuteScope, by event: UInt64, _ hasher: IdentityHasher) {
        switch scope {
        case .all: all = Entry(identity: .absent, since: event, by: event)
        case .thread(let name): threads.mute(hasher.identity(of: name, as: .thread), by: event)
        case .category(let name): categories.mute(hasher.identity(of: name, as: .category), by: event)
        case .topic(let name): threads.mute(hasher.identity(of: name, as: .topic), by: event)
        }
    }
}

extension [MuteSet.Entry] {
    fileprivate func entry(of identity: Identity) -> MuteSet.Entry? {
        let index = bisect { $0.identity < identity }
        return index < count && self[index].identity == identity ? self[index] : nil
    }

    fileprivate mutating func mute(_ identity: Identity, by seq: UInt64) {
        let index = bisect { $0.identity < identity }
        if index < count, self[index].identity == identity {
            self[index].by = seq
        } else {
            insert(MuteSet.Entry(identity: identity, since: seq, by: seq), at: index)
        }
    }
}

extension MuteSet {
    /// Without mutes two bytes (Docs/internals/format.md, "Root").
    func pack(into bytes: inout [UInt8]) {
        bytes.appendVarint(UInt64(threads.count) << 1 | (all == nil ? 0 : 1))
        all?.packEvents(into: &bytes)
        for entry in threads { entry.pack(into: &bytes) }
        bytes.appendVarint(UInt64(categories.count))
        for entry in categories { entry.pack(into: &bytes) }
    }

    init(from reader: inout PackedReader) throws(PackedError) {
        let head = try reader.varint()
        if head & 1 != 0 { all = try Entry(.absent, from: &reader) }
        guard head >> 1 <= UInt64(reader.remaining / Entry.fewestBytes) else { throw .damaged("count too large") }
        for _ in 0..<head >> 1 { threads.append(try Entry(reader.identity(), from: &reader)) }
        for _ in 0..<(try reader.count(minimumBytes: Entry.fewestBytes)) {
            categories.append(try Entry(reader.identity(), from: &reader))
        }
    }
}

extension MuteSet.Entry {
    fileprivate static let fewestBytes = 10

    fileprivate func pack(into bytes: inout [UInt8]) {
        bytes.appendFixed64(identity.rawValue)
        packEvents(into: &bytes)
    }

    fileprivate func packEvents(into bytes: inout [UInt8]) {
        bytes.appendVarint(since)
        bytes.appendVarint(by &- since)
    }

    fileprivate init(_ identity: Identity, from reader: inout PackedReader) throws(PackedError) {
        let since = try reader.varint()
        self.init(identity: identity, since: since, by: since &+ (try reader.varint()))
    }
}
