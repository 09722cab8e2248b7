import TraylogAudit
import TraylogDomain
@_spi(Replication) import TraylogQueries

@_spi(Replication) extension BlockingQueries {
    /// The same calls for threads, not tasks: they block the calling thread.
    @available(*, noasync, message: "use `await store.records`; this call blocks a thread that tasks share")
    public func records(
        after position: Seq, limit: Int = 1_000, bytes: Int = 1 << 20
    ) throws(TraylogError) -> [LogRecord] {
        try queries.answer { try $0.records(from: position.rawValue + 1, limit: limit, bytes: bytes) }
    }

    /// The same calls for threads, not tasks: they block the calling thread.
    @available(*, noasync, message: "use `await store.sourcePosition`; this call blocks a thread that tasks share")
    public func sourcePosition() throws(TraylogError) -> SourcePosition? {
        try queries.answer { store in
            let table = store.tables.log.source
            return try store.read { try table.read(in: $0) }.map {
                SourcePosition(source: $0.source, position: $0.position)
            }
        }
    }
}

@_spi(Replication) extension TrayQueries {
    /// Records of the log after `position`, in order and without a gap, for ``Store/apply(_:expecting:root:source:)``.
    ///
    /// - Parameters:
    ///   - position: the event after which the first one comes.
    ///   - limit: the greatest number of records.
    ///   - bytes: the greatest number of bytes, unless the first record is larger.
    /// - Returns: none at the head.
    /// - Throws: ``TraylogError``: refused `compacted` when one of them has left the log; failed `damaged`.
    public func records(
        after position: Seq, limit: Int = 1_000, bytes: Int = 1 << 20
    ) async throws(TraylogError) -> [LogRecord] {
        try await asking(atLength: true) { store throws(TraylogError) in
            try store.records(after: position, limit: limit, bytes: bytes)
        }
    }

    /// The store's position in the log that it follows; nil if it follows none.
    ///
    /// ```swift
    /// let position = try await store.sourcePosition()?.position ?? 0
    /// ```
    public func sourcePosition() async throws(TraylogError) -> SourcePosition? {
        try await asking { store throws(TraylogError) in try store.sourcePosition() }
    }
}

@_spi(Replication) extension Store {
    /// Appends records unchanged, as one transaction; for a store that follows another log of record.
    ///
    /// Nothing is decided again, so the log has the same bytes and the same root as the log the records come from.
    ///
    /// Open such a store with ``StoreOptions/Ticking/manual`` and give it no commands: both would append events
    /// of its own. The position is stored in the same transaction, so after a kill the process goes on from
    /// ``TrayQueries/sourcePosition()`` without repeating or losing an event.
    ///
    /// - Parameters:
    ///   - records: in order and without a gap; none, to store the position alone. They share one transaction, so pass a few
    ///     thousand at most. The event of a compaction or an erasure (``LogRecord/tellsOfRewrite``) must come alone: the
    ///     store then repeats the compaction or erasure.
    ///   - seq: the event that the first one follows: the head.
    ///   - root: the source's root of the Merkle tree through `seq`; nil to compare nothing.
    ///   - source: the source's position after these records; never before the stored position.
    /// - Returns: the new head.
    /// - Throws: ``TraylogError/failed(_:)``, after which nothing was stored: `outOfSequence` for a gap or a position that
    ///   goes back, `diverged` for another root or a record that does not continue this log, both with the seq; `unsupported`
    ///   for an erased event, which only a copy of the store can bring, and for an erasure among others; `damaged` for wrong bytes.
    @discardableResult
    public func apply(
        _ records: [LogRecord], expecting seq: Seq, root: MerkleHash? = nil, source: SourcePosition? = nil
    ) async throws(TraylogError) -> Seq {
        if root != nil { try await queries.longPool.run { () throws(TraylogError) in try self.check(root, of: seq) } }
        return try await prepareToApply(records, expecting: seq, source: source)()
    }

    /// Does what can be done before the records' turn comes, on the caller's thread, and returns the rest.
    package func prepareToApply(
        _ records: [LogRecord], expecting seq: Seq, source: SourcePosition?
    ) -> @Sendable () async throws(TraylogError) -> Seq {
        if records.count == 1, records[0].tellsOfRewrite {
            return { () async throws(TraylogError) in
                try await self.queries.jobs.work { (_) throws(TraylogError) in
                    try self.rewrite(as: records[0], expecting: seq, source: source)
                }
                return seq + 1
            }
        }
        let (writer, prepared) = (writer, PreparedRecords(records, after: seq, hasher: hasher))
        return { () async throws(TraylogError) in
            try await Waiting.suspended { answer in
                writer.perform(
                    isWrite: true, { try $0.apply(prepared, expecting: seq, source: source) }, answer: answer)
            }
        }
    }

    /// The tree through an event never changes, so it can be looked at before the records' turn comes.
    fileprivate func check(_ root: MerkleHash?, of seq: Seq) throws(TraylogError) {
        guard let root, try seq <= view.head() else { return }
        let own = try view.treeHead(asOf: .seq(seq)).root
        guard own != root else { return }
        throw .failed(.diverged(seq, "the root of the tree through it is \(own) here and \(root) in the source"))
    }
}

@_spi(Replication) extension BlockingStore {
    /// Appends records as they are; see ``Store/apply(_:expecting:root:source:)``.
    ///
    /// - Returns: the new head.
    /// - Throws: as that one.
    @available(*, noasync, message: "use `await store.apply`; this call blocks a thread that tasks share")
    @discardableResult
    public func apply(
        _ records: [LogRecord], expecting seq: Seq, root: MerkleHash? = nil, source: SourcePosition? = nil
    ) throws(TraylogError) -> Seq {
        try store.check(root, of: seq)
        if records.count == 1, records[0].tellsOfRewrite {
            try store.rewrite(as: records[0], expecting: seq, source: source)
            return seq + 1
        }
        let prepared = PreparedRecords(records, after: seq, hasher: store.hasher)
        return try store.writer.perform(isWrite: true) { try $0.apply(prepared, expecting: seq, source: source) }
    }
}
