@_spi(Replication) import TraylogDomain
import TraylogFold
import TraylogLog
import TraylogLMDB
import TraylogQueries
import TraylogStates

/// Compares the stored rows of one stream with the fold of the log.
struct StreamCheck: Sendable {
    let source: FileSource
    /// The last event that was folded; a store that is being written may hold later ones.
    let head: UInt64
    /// Whether the answers about ``head`` are compared, and not the rows, which are about now.
    var isPast = false

    /// Which of some streams are stored as they were packed, to the byte, under the right name, and with all that is due.
    ///
    /// - Parameter streams: each with its rows.
    func streamsAsStored(
        _ streams: [(folded: LogFold.Folded, rows: Range<Int>)], _ rows: RowBuffer
    ) throws -> [Bool] {
        guard !streams.isEmpty else { return [] }
        guard !isPast else { return streams.map { _ in false } }
        let tables = source.tables
        return try source.rows.read { transaction in
            guard let record = try? StoreRecord.read(tables.log.meta, in: transaction) else {
                return streams.map { _ in false }
            }
            let names = tables.derived.names
            let states = tables.derived.states
            return try streams.map { folded, range in
                do {
                    guard try folded.name.isStored(folded.stream, in: names, record.hasher, transaction),
                        try rows.areStored(range, in: states.database, transaction)
                    else { return false }
                    return try areDuesStored(folded, in: tables.derived.dues, transaction)
                } catch is PackedError {
                    return false
                } catch let error as LMDBError where error.code == .corrupted || error.code == .truncated {
                    return false
                }
            }
        }
    }

    private func areDuesStored(
        _ folded: LogFold.Folded, in dues: DueTable, _ transaction: borrowing ReadTransaction
    ) throws -> Bool {
        for (seq, entry) in folded.dues {
            let isTopic = folded.name.isTopic
            guard try folded.state.holds(entry, setBy: seq, isTopic: isTopic, stored: folded.pages) else { continue }
            guard try dues.contains(entry, in: transaction) else { return false }
        }
        return true
    }

    /// The first difference in words; nil when there is none.
    func difference(_ folded: LogFold.Folded) throws -> String? {
        try (isPast ? pastDifference(folded) : stateDifference(folded)).map { "\(folded.name.words): \($0)" }
    }

    /// The same of a state that was kept for looking back.
    ///
    /// - Parameter earlier: the landmark before; what was kept then was compared then.
    func difference(
        ofLandmark reached: TrayState, of folded: LogFold.Folded, since earlier: UInt64
    ) throws -> String? {
        let comparison = LandmarkComparison(source: source, stream: folded.stream)
        return try comparison.difference(reached, since: earlier).map {
            "\(folded.name.words), as of event \(reached.appliedSeq): \($0)"
        }
    }

    /// Describes the first answer of a query of that moment that differs from the fold.
    private func pastDifference(_ folded: LogFold.Folded) throws -> String? {
        try source.readTail { snapshot in
            let now = try snapshot.user(folded.name, stream: folded.stream)
            let then = try now.at(head)
            let anew = UserSnapshot(
                user: then.user, stream: then.stream, store: then.store, asOf: head, state: folded.state,
                pages: folded.base?.pages ?? then.store.pages(of: .absent, asOf: 0), past: nil)
            guard try then.tray() == anew.tray() else { return "the tray as of event \(head) differs from the log's" }
            return try ItemComparison(anew, then).changes().first.map {
                "item \($0.entry.seq) as of event \(head) differs"
            }
        }
    }

    private func stateDifference(_ folded: LogFold.Folded) throws -> String? {
        do {
            return try source.readTail { snapshot in
                guard try snapshot.stream(of: folded.name) == folded.stream else {
                    return "the name does not lead to stream \(folded.stream), which has this name"
                }
                // As far as the stored state or the user's own events reach: nobody looked at later broadcasts yet.
                let stored = try snapshot.user(
                    folded.name, stream: folded.stream,
                    through: max(folded.state.events.last, folded.state.appliedSeq))
                let state = try folded.state(through: stored.state.appliedSeq, after: head, snapshot)
                let difference = try StateComparison(stored: stored.state, pages: stored.pages, folded: state)
                    .difference()
                return try difference ?? dueDifference(folded, state, snapshot)
            }
        } catch PackedError.damaged(let what) {
            return "the stored state is damaged (\(what))"
        } catch let error as LMDBError where error.code == .corrupted || error.code == .truncated {
            return error.message
        }
    }

    /// Whether what is due is in the table of it; entries too many are harmless.
    private func dueDifference(
        _ folded: LogFold.Folded, _ state: TrayState, _ snapshot: FileSnapshot
    ) throws -> String? {
        let store = snapshot.store
        for (seq, entry) in folded.dues {
            // Of a deleted item that left the log, nothing is due any more.
            guard try store.holds(entry.item) else { continue }
            let isTopic = folded.name.isTopic
            guard try state.holds(entry, setBy: seq, isTopic: isTopic, stored: folded.pages),
                try !store.read({ try store.dues.contains(entry, in: $0) })
            else { continue }
            // A later event of the topic's may have ended it; then the state at the head says so.
            let now = try snapshot.user(folded.name, stream: entry.stream)
            guard try now.state.holds(entry, setBy: seq, isTopic: isTopic, stored: now.pages) else { continue }
            return "item \(entry.item) is due at \(entry.due), and nothing will tell"
        }
        return nil
    }
}

extension LogFold.Folded {
    /// The state after later events of a store that goes on meanwhile.
    fileprivate func state(through end: UInt64, after head: UInt64, _ snapshot: FileSnapshot) throws -> TrayState {
        var state = state
        let own = try snapshot.seqs(of: stream, after: head, through: end)
        var index = 0
        func next(_ seq: UInt64) -> UInt64 {
            index += 1
            return index < own.count ? own[index] : 0
        }
        try state.catchUp(
            own: own.first ?? 0, through: end, stored: pages,
            history: UnaidedHistory(
                source: snapshot.history(of: snapshot.store.pages(of: stream, asOf: 0)), base: base), next: next)
        return state
    }
}

extension StreamName {
    /// Whether the name leads to the stream.
    fileprivate func isStored(
        _ stream: StreamID, in names: NameTable, _ hasher: IdentityHasher, _ transaction: borrowing ReadTransaction
    ) throws -> Bool {
        switch self {
        case .user(let name): try names.stream(of: name, in: transaction) == stream
        case .topic(let name):
            try names.stream(ofTopic: hasher.identity(of: name, as: .topic), in: transaction) == stream
        case .erased(let number): number == stream
        }
    }

    /// For messages.
    var words: String {
        switch self {
        case .user(let name): "user \(name)"
        case .topic(let name): "topic \(name)"
        case .erased: "user \(text)"
        }
    }
}

/// The past without anything that was kept of it but the base.
struct UnaidedHistory<Source: FoldHistory>: FoldHistory {
    let source: Source
    let base: FoldBase?

    func fact(_ seq: UInt64) throws -> Fact { try source.fact(seq) }

    func events(ofTopic topic: Identity, after seq: UInt64, through end: UInt64) throws -> [UInt64] {
        try source.events(ofTopic: topic, after: seq, through: end)
    }

    func landmark(atOrBefore seq: UInt64) -> Landmark<BasePages>? {
        guard let base, base.state.appliedSeq <= seq else { return nil }
        return Landmark(state: base.state, pages: BasePages(stored: base.pages))
    }

    func firsts(of space: PageSpace, changedSince seq: UInt64) -> [UInt64] { [] }
}
