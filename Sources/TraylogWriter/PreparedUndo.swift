import TraylogDomain
import TraylogLog
import TraylogQueries
import TraylogStates

/// The state of a user without an event that is about to be undone, folded beside the writer.
///
/// The writer folds in what came after it. Whatever happened to the user meanwhile, it only saves work: where it does not fit
/// any more, the writer folds anew.
struct PreparedUndo: Sendable {
    let stream: StreamID
    /// Of the store, when it was folded: what it was folded over is still there as long as the floor is.
    let floor: UInt64
    /// The event that is about to be undone.
    let event: UInt64
    /// Every event that it leaves out.
    let voided: Set<UInt64>
    let state: TrayState
    /// Those of the landmark or the base that it was folded over: it does not hold all pages itself.
    let pages: StoredPages.View
    /// The pages that the event or a later one changed, stored or not, and the newest event that they were looked for
    /// through: to find them takes a look at each page of the tray.
    let changed: [PageSpace: [UInt64]]
    let through: UInt64

    /// - Returns: nil when there is nothing to undo; the writer says why.
    init?(of event: UInt64, _ now: UserSnapshot) throws {
        guard now.stream != .absent, event > 0, event <= now.asOf, let past = now.past else { return nil }
        guard !now.store.record.floor.isAbove(event) else { return nil }
        let undone = try now.pages.event(event)
        guard undone.kind.isUndoable, undone.user.hasSameBytes(as: now.user) else { return nil }
        let earlier = try now.state.voidings(stored: now.pages)
        guard !earlier.contains(where: { $0.event == event }) else { return nil }
        let voidings = earlier + [Voiding(event: event, undone: .max)]
        let found = try TrayState.state(
            at: now.asOf, of: now.state, without: voidings, stored: now.pages, history: now.history(past))
        stream = now.stream
        floor = now.store.record.floor.seq.rawValue
        voided = Set(voidings.map(\.event))
        state = found.state
        pages = found.pages?.view ?? .asOf(0)
        self.event = event
        changed = try [PageSpace.items, .collapseKeys, .moved, .tallies].reduce(into: [:]) {
            let unstored = now.state.firsts(of: $1, changedSince: event)
            $0[$1] = Array(Set(try now.pages.firsts(of: $1, changedSince: event) + unstored))
        }
        through = now.state.appliedSeq
    }
}

extension StoreSnapshot {
    /// The newest event that the stored state of a stream holds; 0 when none is stored.
    fileprivate func storedThrough(of stream: StreamID) throws -> UInt64 { try root(stream)?.state.appliedSeq ?? 0 }
}

extension TrayState {
    /// The firsts of pages in memory that `seq` or a later event changed.
    fileprivate func firsts(of space: PageSpace, changedSince seq: UInt64) -> [UInt64] {
        if space == .items { return pages.lazy.filter { $0.changedBy >= seq }.map(\.first) }
        guard let index = TrayState.keyIndexes.first(where: { $0.space == space })?.index else { return [] }
        return self[keyPath: index].pages.lazy.filter { $0.changedBy >= seq }.map(\.first)
    }
}

extension LiveStore {
    /// The undo of an event that the current request prepared; nil when it does not fit any more.
    func undo(of event: UInt64, in stream: StreamID) -> PreparedUndo? {
        undos.first { $0.stream == stream && $0.event == event && $0.floor == record.floor.seq.rawValue }
    }

    /// The pages of a stream that an event or a later one changed, as they are stored, where a request brought them along.
    func changedPages(of space: PageSpace, since event: UInt64, in stream: StreamID) throws -> [UInt64]? {
        guard let undo = undo(of: event, in: stream), let changed = undo.changed[space],
            try snapshot().storedThrough(of: stream) <= undo.through
        else { return nil }
        return changed
    }
}

extension PreparedCommands {
    /// Reads what takes long for the undos and the changes of old broadcasts among the commands, so that the writer does not have to.
    ///
    /// - Complexity: for an undo, that of a query `asOf` the moment before the event undone, and the user's events since; for a change
    ///   with a key of a broadcast that has left the log, O(topics).
    package mutating func look(in source: any SnapshotSource) {
        prepareTopics(source)
        undos = commands.compactMap { command in
            guard case .undo(let event) = command.action, let user = command.user else { return nil }
            // What cannot be read here is the writer's to report.
            return try? source.read(.past, of: user) { try PreparedUndo(of: event.rawValue, $0) }
        }
    }
}
