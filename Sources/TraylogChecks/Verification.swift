import TraylogArchive
import TraylogAudit
@_spi(Replication) import TraylogDomain
@_spi(Operations) import TraylogEvidence
import TraylogLMDB
import TraylogLog
import TraylogPlatform
import TraylogStates
import TraylogTree

/// The findings of a verification.
public struct VerificationReport: Hashable, Sendable {
    /// One for each thing that is wrong, in words: which event or user, what, and what to do.
    public var findings: [String] = []
    /// The events of the log, those that a compaction took included.
    public var events: UInt64 = 0
    /// How many of them a compaction took.
    public var dropped: UInt64 = 0
    /// Users whose states were compared.
    public var users: UInt64 = 0
    /// In the archives that were checked; nil when none were asked for.
    public var archivedEvents: UInt64?
    /// For each tree head that was handed over, whether the log extends it.
    @_spi(Operations) public var extends: [Bool] = []
    /// The first event at which the log, the stored tree or a tree head are known to differ; nil when none is.
    ///
    /// The stored tree has a hash over each 256 events: then it is the first of them, and a finding names them all.
    public var firstDifference: UInt64?

    /// The result of a verification; without findings the store is sound.
    package init(findings: [String], events: UInt64, users: UInt64) {
        self.findings = findings
        self.events = events
        self.users = users
    }
}

/// Checks everything that can be checked: each page of the file and whose it is, each event's checksum and fields, the
/// log's order and density, times that never decrease, each stored state against the fold of the log, the checksums of
/// stored projections, and the Merkle tree.
@_spi(Operations) public enum Verification {
    /// - Parameters:
    ///   - archives: a directory with archives of the store, which are checked, too.
    ///   - treeHeads: kept elsewhere; the log must extend each.
    ///   - publicKey: whose signature must be under each of them.
    /// - Throws: ``TraylogError``: as for opening. Damage inside is a finding, not an error.
    public static func run(
        directory: String, archives: String? = nil, options: StoreOptions = StoreOptions(),
        treeHeads: [KeptTreeHead] = [], publicKey: NotePublicKey? = nil,
        progress: (_ done: UInt64, _ total: UInt64) -> Void
    ) throws(TraylogError) -> VerificationReport {
        do {
            let environment = try Tables.openForReading(directory, options)
            defer { environment.close() }
            try environment.expectScan(true)
            return try run(
                directory, environment, archives: archives, treeHeads: treeHeads, publicKey: publicKey,
                progress: progress)
        } catch {
            throw TraylogError(error, in: directory)
        }
    }

    /// The same in a store that is open.
    ///
    /// - Throws: what `progress` throws, and what reading throws.
    package static func run(
        _ directory: String, _ environment: Environment, archives: String?, treeHeads: [KeptTreeHead] = [],
        publicKey: NotePublicKey? = nil, progress: (_ done: UInt64, _ total: UInt64) -> Void
    ) throws -> VerificationReport {
        var findings = Findings()
        var tree = VerificationReport(findings: [], events: 0, users: 0)
        // A part of the work that is about as long as the others.
        let parts: UInt64 = 3
        var ofTree = Findings()
        try gather(directory, &ofTree) {
            try checkTree(environment, treeHeads, publicKey, into: &tree) { progress($0, parts * $1) }
        }
        // What is wrong with the log comes before what may only follow from it.
        findings.add(ofTree)
        var report = try run(directory, environment, isTreeSound: ofTree.isEmpty, &findings) { done, total in
            progress(done + total / (parts - 1), total * parts / (parts - 1))
        }
        if let archives {
            let check = ArchiveCheck(environment: environment, tables: Tables(environment).log)
            let events = try check.run(archives, &findings, progress: progress)
            let ofLog = try checkSegments(archives, environment, treeHeads, &findings, progress: progress)
            report.archivedEvents = events + ofLog
        }
        report.findings = findings.words
        (report.extends, report.firstDifference) = (tree.extends, tree.firstDifference)
        return report
    }

    private static func run(
        _ directory: String, _ environment: Environment, isTreeSound: Bool, _ findings: inout Findings,
        progress: (UInt64, UInt64) -> Void
    ) throws -> VerificationReport {
        let tables = Tables(environment)
        // What a compaction that ends meanwhile takes is not missing.
        let file = try PinnedFile(environment)
        var report = VerificationReport(findings: [], events: 0, users: 0)
        // Each part finds what it can, whatever another one stumbled over.
        try gather(directory, &findings) { () throws -> [String] in
            let head = try file.read { try tables.log.events.head(in: $0).seq }
            report.events = head
            return try environment.checkPages { pages, all in
                progress(head * min(pages, all) / max(all, 1), 3 * head)
            }.map { "\($0); restore a backup, or export the log and restore that" }
        }
        let head = report.events
        var ofLog = Findings()
        try gather(directory, &findings) { () throws -> [String] in
            let floor = try file.read { transaction in
                try StoreRecord.read(tables.log.meta, in: transaction).map { record in
                    (record.floor.seq.rawValue, record.dropped, record.floorStreams)
                } ?? (0, 0, .absent)
            }
            report.dropped = floor.1
            try checkLog(file, tables.log, floor, through: head, &ofLog) { progress(head + $0, 3 * head) }
            return []
        }
        findings.add(ofLog)
        let isLogSound = findings.isEmpty && isTreeSound
        try gather(directory, &findings) { () throws -> [String] in
            let replay = try Replay.compare(
                directory, environment, limit: Findings.named, skipsDamage: true,
                progress: { done, _ in progress(2 * head + done, 3 * head) })
            report.users = replay.users
            return replay.differences.map {
                isLogSound
                    ? "\($0); run `traylog replay --rebuild`, which derives it from the log again"
                    : "\($0); do not rebuild it while the log is in doubt: what is stored may be the last trace"
            }
        }
        try gather(directory, &findings) { () throws -> [String] in
            var last: [UInt8] = []
            while try file.read({ try tables.log.bases.check(rows: 10_000, after: &last, in: $0) }) {}
            return []
        }
        try gather(directory, &findings) { () throws -> [String] in
            try file.read { try tables.projections.findings(in: $0) }
        }
        return report
    }

    /// Adds what `body` finds, and what damage it cannot go past.
    private static func gather(
        _ directory: String, _ findings: inout Findings, _ body: () throws -> [String]
    ) throws {
        do {
            for text in try body() { findings.add(text) }
        } catch let error as CodecError {
            findings.add(error.message)
        } catch let fault as RevisionFault {
            findings.add(CodecError(fault, stream: nil).message)
        } catch let error as PackedError {
            findings.add(StoreFailure(error, in: directory).message)
        } catch let error as DamagedStates {
            findings.add(StoreFailure(error, in: directory).message)
        } catch let error as LMDBError where error.code == .corrupted || error.code == .truncated {
            findings.add(error.message)
        }
    }

    private static func checkLog(
        _ file: PinnedFile, _ tables: LogTables, _ floor: (seq: UInt64, dropped: UInt64, streams: StreamID),
        through head: UInt64, _ findings: inout Findings, progress: (UInt64) -> Void
    ) throws {
        var present: UInt64 = 0
        var next: UInt64 = 1
        var newest = Timestamp(milliseconds: .min)
        var known = StreamID.absent
        var revisions = RevisionCheck(floor: floor.seq)
        while next <= head {
            try Cancellation.checkCurrent()
            next = try file.read { transaction in
                let end = min(head, next + 9_999)
                return try tables.events.forEachRecord(from: next, floor: floor.seq, in: transaction) { seq, record in
                    guard seq <= head else { return false }
                    present += 1
                    do {
                        let header = try RecordHeader.read(record, seq: seq)
                        if let skeleton = try EventLog.skeleton(seq, record) {
                            if skeleton.recordedAt < newest {
                                findings.add("event \(seq) was recorded before event \(seq - 1)")
                            }
                            newest = max(newest, skeleton.recordedAt)
                            known = max(known, header.stream)
                        } else {
                            try tables.events.withPayload(of: seq, record, in: transaction) { header, payload in
                                _ = try EventDecoder.event(seq: Seq(seq), header: header, payload: payload)
                                if header.recordedAt < newest {
                                    findings.add("event \(seq) was recorded before event \(seq - 1)")
                                }
                                newest = max(newest, header.recordedAt)
                                // With the floor, what began a stream may be gone.
                                if header.stream > max(known.next, floor.streams), seq >= floor.seq {
                                    findings.add(
                                        "event \(seq) belongs to stream \(header.stream), which nothing began")
                                }
                                known = max(known, header.stream)
                            }
                        }
                        let finding = try revisions.finding(seq, header) { stream in
                            guard stream < floor.streams else { return nil }
                            return try tables.bases.root(stream, in: transaction)?.state.events.count
                        }
                        if let finding { findings.add(finding) }
                    } catch let error as CodecError {
                        findings.add(error.message)
                        revisions.noteDamage()
                    }
                    return seq < end
                }
            }
            progress(min(next - 1, head))
        }
        if head - present != floor.dropped {
            findings.add(
                "\(head - present) events below the floor are missing, of which compaction took \(floor.dropped); "
                    + "restore a backup")
        }
    }
}

extension Verification {
    /// Checks the files of a log in a directory of archives, and that they are of the store's log.
    ///
    /// - Returns: how many events they have of its history; 0 without any.
    private static func checkSegments(
        _ directory: String, _ environment: Environment, _ kept: [KeptTreeHead], _ findings: inout Findings,
        progress: (UInt64, UInt64) -> Void
    ) throws -> UInt64 {
        guard SegmentDirectory.isOne(directory) else { return 0 }
        let tables = Tables(environment)
        let (record, head) = try environment.read { transaction in
            (
                try StoreRecord.read(tables.log.meta, in: transaction) ?? .new(),
                try tables.log.events.head(in: transaction).seq
            )
        }
        let chain = SegmentChain(try SegmentDirectory(directory).segments(), of: record.history)
        let storage = TreeStorage(rows: environment, table: tables.log.merkle, log: tables.log.events)
        let own = try TreeTail().nodes(through: head, storage).head(of: min(head, chain.through))
        var check = try SegmentCheck(directory, kept: kept.map(\.head) + [own], history: record.history)
        let report = try check.run(store: record.identity, progress: progress)
        for finding in report.findings { findings.add(finding) }
        return report.events
    }

    /// The faults of the tree, in words.
    private static func checkTree(
        _ environment: Environment, _ kept: [KeptTreeHead], _ publicKey: NotePublicKey?,
        into report: inout VerificationReport, progress: (UInt64, UInt64) -> Void
    ) throws -> [String] {
        let tables = Tables(environment)
        var findings = Findings()
        for tree in kept {
            guard let publicKey, let objection = tree.objection(by: publicKey) else { continue }
            findings.add("the tree head of \(tree.head.size) events does not count: \(objection)")
        }
        // What a compaction that ends meanwhile takes is not missing.
        let file = try PinnedFile(environment)
        let storage = TreeStorage(rows: file, table: tables.log.merkle, log: tables.log.events)
        let floor = try file.read { try StoreRecord.read(tables.log.meta, in: $0)?.floor.seq.rawValue ?? 0 }
        var check = TreeCheck(storage: storage, floor: max(floor, 1) - 1, kept: kept.map(\.head))
        do {
            let (head, size) = try file.read { transaction in
                try (tables.log.events.head(in: transaction).seq, tables.log.merkle.size(in: transaction))
            }
            try check.run(through: head, stored: size) { progress($0, head) }
        } catch let failure as StoreFailure {
            findings.add(failure.message)
        } catch let error as CodecError {
            findings.add(error.message)
        } catch let error as LMDBError where error.code == .corrupted || error.code == .truncated {
            findings.add(error.message)
        }
        for finding in check.findings { findings.add(finding.text) }
        report.extends = check.extends
        report.firstDifference = (check.findings.map(\.seq) + [check.firstDifference?.lowerBound]).compactMap(\.self)
            .min()
        return findings.words
    }
}
