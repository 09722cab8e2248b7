import TraylogDomain
import TraylogJSON
import TraylogLMDB
import TraylogLog
import TraylogPlatform
@_spi(Replication) import TraylogQueries
import TraylogStates

/// Writes a store anew, for one caller at a time.
package struct StoreRewriter: Sendable {
    package let source: any SnapshotSource
    let host: any RewriteHost
    /// Whose names were erased lately.
    package let erasures: RecentErasures
    private let isUnderWay = Monitor(false)

    package init(source: any SnapshotSource, host: any RewriteHost, erasures: RecentErasures) {
        self.source = source
        self.host = host
        self.erasures = erasures
    }

    /// Lets one caller at a time rewrite the store or its archives.
    ///
    /// - Throws: ``StoreFailure`` `busy`; what `body` throws.
    package func exclusively<Result>(_ body: () throws -> Result) throws -> Result {
        let isFirst = isUnderWay.withLock { isUnderWay in
            defer { isUnderWay = true }
            return !isUnderWay
        }
        guard isFirst else {
            throw StoreFailure(
                code: .busy, message: "\(source.directory): a compaction or an erasure is under way; wait for its end")
        }
        defer { isUnderWay.withLock { $0 = false } }
        return try body()
    }

    /// The streams of users who are held.
    private func heldStreams() throws -> Set<StreamID> {
        let (floor, head) = try source.read { ($0.record.floor.seq.rawValue, $0.head) }
        return try HeldStreams.find(source.tables.log.events, in: source.environment, floor: floor, through: head)
    }

    /// Runs `body`, which erases a user, while nobody can hold them; only within ``exclusively(_:)``.
    ///
    /// Archives lose the user's events long before the store does, so a hold that came in between would come too late.
    ///
    /// - Throws: ``Refusal/held(user:)``; what `body` throws.
    package func withoutHolds<Result>(on erasure: Erasure, _ body: () throws -> Result) throws -> Result {
        try host.announceErasure(of: erasure.stream)
        defer { host.withdrawErasure() }
        guard try !heldStreams().contains(erasure.stream) else { throw Refusal.held(user: erasure.user) }
        return try body()
    }

    /// Only within ``exclusively(_:)``.
    package func rewrite(
        _ plan: RewritePlan, _ progress: @escaping (UInt64, UInt64) throws -> Void
    ) throws -> StoreRewrite.Outcome {
        guard let user = plan.erasure?.user else { return try run(plan, progress) }
        var plan = plan
        plan.onErased = { [erasures] in erasures.end(user) }
        try erasures.begin(user)
        do {
            let outcome = try run(plan, progress)
            erasures.keep()
            try removeFormerFiles()
            return outcome
        } catch {
            erasures.cancel(user)
            throw error
        }
    }

    /// The last part of an erasure: the old file has all that was erased.
    ///
    /// - Throws: when it cannot be removed; the erasure has taken effect, and can be repeated until nothing is left.
    package func removeFormerFiles() throws { try source.environment.removeFormerFiles() }

    private func run(
        _ plan: RewritePlan, _ progress: @escaping (UInt64, UInt64) throws -> Void
    ) throws -> StoreRewrite.Outcome {
        let rewrite = StoreRewrite(
            directory: source.directory, environment: source.environment, tables: source.tables, host: host,
            plan: plan, progress: progress)
        return try rewrite.run()
    }

    /// The same, with what it did.
    package func compact(
        _ plan: RewritePlan, _ progress: @escaping (UInt64, UInt64) throws -> Void
    ) throws -> CompactionReport {
        var report = CompactionReport(floor: max(try source.read { $0.record.floor.seq }, Seq(plan.floor)))
        report.isDryRun = plan.isDryRun
        let before = try FileSizes(of: source.environment)
        let outcome = try rewrite(plan, progress)
        report.dropped = outcome.dropped
        for (number, count) in outcome.droppedKinds where count > 0 {
            if let kind = EventKind(code: number) { report.kinds[kind] = count }
        }
        report.archive = outcome.archive
        report.isGivenUp = outcome.isGivenUp && !plan.isDryRun
        // It has taken effect, also where somebody closes the store now, and its file cannot be measured any more.
        let after = outcome.isGivenUp ? nil : try? FileSizes(of: source.environment)
        report.setSizes(before, after: after ?? outcome.sizes)
        return report
    }

    /// The report of a compaction that finds nothing to do.
    package func unchanged(_ floor: Seq, isDryRun: Bool) throws -> CompactionReport {
        let sizes = try FileSizes(of: source.environment)
        var report = CompactionReport(floor: floor)
        report.isDryRun = isDryRun
        report.setSizes(sizes, after: sizes)
        return report
    }

    /// The floor that a moment means; the present one for a moment below it.
    package func floor(before moment: Moment) throws -> UInt64 {
        try source.read { store in
            do {
                return try store.seq(of: moment, "before")
            } catch Refusal.compacted {
                return store.record.floor.seq.rawValue
            }
        }
    }
}

/// What the tables of a data file take.
struct FileSizes: Sendable {
    var bytes: UInt64 = 0
    var freeBytes: UInt64 = 0
    /// In the order of ``Tables/allNames``.
    var tables: [UInt64] = []

    init(of environment: Environment) throws {
        let information = try environment.information()
        let pageBytes = UInt64(information.pageSizeBytes)
        (bytes, freeBytes) = (UInt64(information.fileBytes), UInt64(information.freePages) * pageBytes)
        tables = try environment.read { transaction in
            try Tables.allNames.map { UInt64(try transaction.statistics(environment.database($0)).pages) * pageBytes }
        }
    }
}

extension CompactionReport {
    fileprivate mutating func setSizes(_ before: FileSizes, after: FileSizes) {
        (bytesBefore, bytesAfter) = (before.bytes, after.bytes)
        (freeBytesBefore, freeBytesAfter) = (before.freeBytes, after.freeBytes)
        for (name, sizes) in zip(Tables.allNames, zip(before.tables, after.tables)) where sizes != (0, 0) {
            tables.append(Table(name: name, bytesBefore: sizes.0, bytesAfter: sizes.1))
        }
    }
}

/// The user whose events are to lose their content.
package struct Erasure {
    package let user: String
    package let stream: StreamID
    /// That of the user's newest event when the erasure was asked for.
    package var revision: UInt64 = 0
    /// Who asks for it, and from where, for its event.
    package var actor: String?
    package var device: String?
    /// Events that left the log and whose fingerprints are known.
    package var keyedEvents: Set<UInt64> = []
    /// What its event says of the user's subscriptions; nil where the event is told.
    var spans: ErasedSpans?

    package init(user: String, stream: StreamID, actor: String? = nil, device: String? = nil) {
        self.user = user
        self.stream = stream
        self.actor = actor
        self.device = device
    }
}

/// The purpose of a rewrite of the store.
package struct RewritePlan {
    /// Moves the floor there; at or below the present one, it stays.
    package var floor: UInt64 = 0
    /// Where what leaves the log goes; nil to let it go.
    package var archiveDirectory: String?
    /// The user to erase; nil for nobody.
    package var erasure: Erasure?
    /// Called once when the erasure has taken effect, before any later event can be seen.
    var onErased: (@Sendable () -> Void)?
    /// The rewrite of another copy of the store that this one repeats; nil for a rewrite that was decided here.
    package var told: ToldRewrite?
    /// Who asks for a compaction, and from where, for its event.
    package var actor: String?
    package var device: String?
    /// Gives the new file up when it is complete.
    package var isDryRun = false
    /// Gives it up if it is larger than the old one, as ``CompactionReport/isWorthIt`` has it.
    package var isOnlyIfSmaller = false
    /// Derives all states from the log, whatever is stored.
    package var isRebuild = false

    package init() {}
}

/// A rewrite that another copy of the store decided, with its event.
package struct ToldRewrite: Sendable {
    /// The event, to the byte.
    let record: LogRecord
    /// The archive's name in the event.
    let archive: String?
    /// Where the event stands in the log of record.
    let place: (source: String, position: UInt64)?

    package init(_ record: LogRecord, archive: String?, at place: SourcePosition?) {
        (self.record, self.archive) = (record, archive)
        self.place = place.map { ($0.source, $0.position) }
    }

    /// The event as the next one.
    func batch(after head: EventLog.Head) throws -> RecordBatch {
        guard record.seq.rawValue == head.seq + 1 else {
            throw StoreFailure(
                code: .outOfSequence,
                message:
                    "event \(record.seq) was given, and the newest event here is \(head.seq); give every event, in order"
            )
        }
        let bytes = RawSpan(_elements: record.bytes.span)
        let header = try RecordHeader.read(bytes, seq: record.seq.rawValue)
        guard let kind = header.kind, !header.isErased, header.recordedAt >= head.recordedAt else {
            throw StoreFailure(code: .diverged, message: "event \(record.seq) does not continue this log")
        }
        var batch = RecordBatch(firstSeq: record.seq.rawValue)
        try batch.append(copying: header, kind: kind, payload: bytes.extracting(RecordHeader.byteCount...))
        return batch
    }
}

/// The effect of a compaction, or of a dry run.
public struct CompactionReport: Hashable, Sendable {
    /// The first event whose state can be asked for from now on.
    ///
    /// Events below may be gone.
    public var floor: Seq
    /// The number of events that left the log.
    public var dropped: UInt64 = 0
    /// The number of events that left the log by kind, without zeros.
    @_spi(Operations) public var kinds: [EventKind: UInt64] = [:]
    /// The name of the archive that holds them; nil when they were not archived.
    public var archive: String?
    /// The size of the store's data file before.
    public var bytesBefore: UInt64 = 0
    /// The size of the data file afterwards; of a dry run, and where it was not worth it, of the file that was filled and deleted.
    ///
    /// A compaction right after a dry run comes within 5 % of it, as long as little is appended in between.
    public var bytesAfter: UInt64 = 0
    /// Whether the file becomes smaller, or larger by no more than 64 KiB, which the next appends take anyway.
    ///
    /// A compaction that was asked to go on only then has changed nothing where it is false.
    public var isWorthIt: Bool { Self.isWorthIt(from: bytesBefore, to: bytesAfter) }
    /// Whether it was only computed, and nothing was changed.
    public var isDryRun = false
    /// Whether nothing was changed, because the file would have become larger; only where that was asked for.
    public var isGivenUp = false
    /// How much of the file were free pages before.
    @_spi(Operations) public var freeBytesBefore: UInt64 = 0
    /// How much of the file are free pages afterwards.
    @_spi(Operations) public var freeBytesAfter: UInt64 = 0
    /// What each table takes of the file, before and after, without empty ones.
    ///
    /// `bases` has the state of each user at the floor, beside the present one in `states`; `tree` and `fingerprints` grow,
    /// because of each event that left they keep a hash and the fingerprint of its key.
    @_spi(Operations) public var tables: [Table] = []

    /// The size of a table of the data file.
    @_spi(Operations) public struct Table: Hashable, Sendable, Codable {
        /// Its name (Docs/internals/format.md, "Tables").
        public var name: String
        /// The size of its pages before.
        public var bytesBefore: UInt64
        /// The size of its pages afterwards.
        public var bytesAfter: UInt64

        /// A table's size before and after.
        package init(name: String, bytesBefore: UInt64, bytesAfter: UInt64) {
            (self.name, self.bytesBefore, self.bytesAfter) = (name, bytesBefore, bytesAfter)
        }
    }

    static func isWorthIt(from before: UInt64, to after: UInt64) -> Bool { after <= before + (64 << 10) }

    /// The report of a compaction that changed nothing yet; set what a test needs.
    package init(floor: Seq) {
        self.floor = floor
    }
}

/// The effect of an erasure.
public struct ErasureReport: Hashable, Sendable, Decodable {
    /// The `erased` event; nil for an unknown user.
    public var seq: Seq?
    /// The name of the user from now on, for `history`.
    public var pseudonym: String?
    /// The number of events of the log that lost their content.
    public var events: UInt64 = 0
    /// The archives that were rewritten.
    public var archives: [String] = []
    /// The files of an archive of the log that others have replaced, so that copies of them elsewhere must be deleted; nil for
    /// none.
    @_spi(Operations) public var replaced: [String]?

    /// The report of an erasure that found nothing; set what a test needs.
    package init() {}
}
