import TraylogAudit
import TraylogDomain
@_spi(Replication) import TraylogQueries
import TraylogStates

extension BlockingQueries {
    /// ``StoreUpkeep/updateBackup(in:progress:)`` on the calling thread.
    @available(*, noasync, message: "use `await store.upkeep.updateBackup`; this call blocks a thread that tasks share")
    @discardableResult
    @_spi(Operations) public func updateBackup(
        in directory: String, progress: (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
    ) throws(TraylogError) -> BackupReport {
        let (head, place) = try headAndPlace()
        // Create nothing if there is no store.
        try StoreReader.open(directory).blocking.close()
        var options = StoreOptions()
        options.ticking = .manual
        let copy = try Store.openToFollow(directory, options: options).blocking
        defer { copy.close() }
        let start = try copy.head()
        var next = start
        try compareLast(copy, head)
        while next < head {
            let records = try missing(after: next, limit: min(1_000, Int(head.rawValue - next.rawValue)), in: directory)
            for batch in records.withRewritesAlone {
                next = try copy.apply(batch, expecting: next, source: batch.last?.seq == head ? place : nil)
            }
            do {
                try progress(next.rawValue - start.rawValue, head.rawValue - start.rawValue)
            } catch {
                throw TraylogError(error, in: directory)
            }
        }
        return BackupReport(head: next, bytes: try copy.statistics().bytes)
    }

    /// The newest event, and its place in the log of record of a node: both of one moment.
    private func headAndPlace() throws(TraylogError) -> (Seq, SourcePosition?) {
        try queries.answer { store in
            let place = try store.read { try store.tables.log.source.read(in: $0) }
            return (Seq(store.head), place.map { SourcePosition(source: $0.source, position: $0.position) })
        }
    }

    /// Makes sure that the copy is one of this store: its newest event is this store's event with its salt, or, where that
    /// event was rewritten here, both trees have the same root.
    private func compareLast(_ copy: BlockingStore, _ head: Seq) throws(TraylogError) {
        let last = try copy.head()
        guard last > .zero else { return }
        guard last <= head else {
            throw .failed(
                StoreFailure(
                    code: .diverged,
                    message:
                        "\(copy.store.directory): the backup has \(last) events and the store \(head); the store was "
                        + "restored since, so make a new backup in an empty directory"))
        }
        let before = Seq(last.rawValue - 1)
        if let own = try? records(after: before, limit: 1), let kept = try? copy.records(after: before, limit: 1),
            !own.isEmpty, own == kept
        {
            return
        }
        let (own, kept) = (try treeHead(asOf: .seq(last)).root, try copy.treeHead().root)
        guard own != kept else { return }
        throw .failed(
            StoreFailure(
                code: .diverged,
                message: "\(copy.store.directory): the backup is of another store, or of events that this one lost: "
                    + "through event \(last) the root is \(own) here and \(kept) there; make a new backup in an "
                    + "empty directory"))
    }

    private func missing(after seq: Seq, limit: Int, in directory: String) throws(TraylogError) -> [LogRecord] {
        do {
            return try records(after: seq, limit: limit)
        } catch .refused(.compacted) {
            throw .failed(
                StoreFailure(
                    code: .unusableTarget,
                    message: "\(directory): events after \(seq), which the backup lacks, have left the log; make a "
                        + "new backup in an empty directory"))
        }
    }
}

extension [LogRecord] {
    /// In order, with each event of a compaction or an erasure by itself.
    fileprivate var withRewritesAlone: [[LogRecord]] {
        var parts: [[LogRecord]] = []
        var isOpen = false
        for record in self {
            let isAlone = record.tellsOfRewrite
            if isOpen, !isAlone { parts[parts.count - 1].append(record) } else { parts.append([record]) }
            isOpen = !isAlone
        }
        return parts
    }
}

extension StoreUpkeep {
    /// Brings an earlier backup of this store up to date: only the events since then are read and written.
    ///
    /// The backup takes the events unchanged, so its log has the same bytes and the same root; a compaction or an erasure
    /// since then is repeated in it. A run that is interrupted leaves a backup of an earlier moment, and a later run goes
    /// on from there.
    ///
    /// Cancelling the task ends it after the events being copied; the backup is then sound and older than the store,
    /// and a later call goes on from there.
    ///
    /// - Parameters:
    ///   - directory: where ``backup(to:progress:)`` made the backup. Nobody else may have it open for writing.
    ///   - progress: called on a thread of the store with the number of new events copied, and of all new events.
    /// - Throws: ``TraylogError/failed(_:)``: `cancelled`; `notFound` if there is no backup; `diverged` for a copy of another store, or
    ///   of events that this store no longer has; `unusableTarget` if a compaction or an erasure removed some of the
    ///   events that the backup lacks; `openForWriting`, `diskFull`.
    /// - Complexity: O(new events), or O(the store) if one of them is a compaction or an erasure.
    @discardableResult
    public func updateBackup(
        in directory: String, progress: @escaping @Sendable (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) async throws(TraylogError) -> BackupReport {
        let view = store.view
        return try await store.queries.jobs.work { (cancellation) throws(TraylogError) in
            try view.updateBackup(in: directory) { done, total in
                try cancellation.check()
                progress(done, total)
            }
        }
    }
}
