import TraylogArchive
import TraylogAudit
@_spi(Replication) import TraylogDomain
@_spi(Operations) import TraylogEvidence
import TraylogLog
import TraylogPlatform
import TraylogStates
import TraylogTree

@_spi(Operations) extension Verification {
    /// Checks an archive of the log by itself, without its store: every byte of every file; that each history is whole from event 1
    /// on; each event, and that no revision of a stream is missing; and that all of it is what the tree heads say, those in the
    /// files and those that were kept elsewhere.
    ///
    /// - Parameters:
    ///   - archive: the directory.
    ///   - treeHeads: kept elsewhere; the newest history must extend each.
    ///   - publicKey: whose signature must be under each of them.
    ///   - progress: called with the number of events checked, and of all.
    /// - Throws: ``TraylogError``: failed `notFound` without an archive, `permissionDenied`. Damage is a finding, not an error.
    public static func run(
        archive directory: String, treeHeads: [KeptTreeHead] = [], publicKey: NotePublicKey? = nil,
        progress: (_ done: UInt64, _ total: UInt64) -> Void
    ) throws(TraylogError) -> VerificationReport {
        do {
            var check = try SegmentCheck(directory, kept: treeHeads.map(\.head))
            for tree in treeHeads {
                guard let publicKey, let objection = tree.objection(by: publicKey) else { continue }
                check.findings.add("the tree head of \(tree.head.size) events does not count: \(objection)")
            }
            return try check.run(progress: progress)
        } catch {
            throw TraylogError(error, in: directory)
        }
    }
}

/// The verification of an archive of the log.
struct SegmentCheck {
    private let segments: SegmentDirectory
    private let names: [SegmentName]
    private let kept: [TreeHead]
    /// The history that must extend the kept tree heads; nil for the one with the newest event.
    private let history: StoreHistory?
    var findings = Findings()
    private var store: StoreIdentity?
    private var seen: Set<SegmentName> = []
    private var done: UInt64 = 0

    /// Roots of the sizes that matter, by the history of their last event.
    private var roots: [Place: MerkleHash] = [:]
    private let sizes: Set<UInt64>
    /// Where later histories begin.
    private var bases: [Place: Base] = [:]
    private var forks: Set<UInt64> = []

    private struct Place: Hashable {
        let history: UInt64
        let size: UInt64
    }

    /// The log through an event.
    private struct Base {
        /// Nil from the first fault on.
        var tree: MerkleAccumulator? = MerkleAccumulator()
        /// The root of the segment before, as it says.
        var root: MerkleHash?
        var newest = Timestamp(milliseconds: .min)
        var revisions = RevisionCheck(floor: 0)
    }

    /// - Throws: ``ArchiveError`` `notFound`, `noArchives`.
    init(_ directory: String, kept: [TreeHead], history: StoreHistory? = nil) throws {
        segments = SegmentDirectory(directory)
        names = try segments.segments()
        guard !names.isEmpty else {
            throw ArchiveError(.noArchives, path: segments.path, "the directory has no files of a log")
        }
        (self.kept, self.history) = (kept, history)
        sizes = Set(kept.map(\.size))
    }

    /// - Parameter store: whose log it must be; nil for any.
    /// - Throws: ``ArchiveError`` for what is not the fault of a file; `CancellationError`.
    mutating func run(
        store: StoreIdentity? = nil, progress: (UInt64, UInt64) -> Void
    ) throws -> VerificationReport {
        self.store = store
        let branches = segments.branches(names)
        let total = names.reduce(UInt64(0)) { $0 &+ $1.events }
        for branch in branches { for fork in branch.history.forks { forks.insert(UInt64(fork.after)) } }
        // Each begins where another one has been.
        for branch in branches.sorted(by: { $0.history.forks.count < $1.history.forks.count }) {
            try walk(branch) { progress($0, total) }
        }
        // What no history needs, such as the parts of a file that has taken their place.
        for name in names where !seen.contains(name) {
            var base: Base?
            try check(SegmentChain.Link(name: name, first: name.first, last: name.last), &base) { progress($0, total) }
        }
        let newest =
            history.map { SegmentBranch(history: $0, chain: SegmentChain(names, of: $0)) } ?? branches.first
        var report = VerificationReport(findings: [], events: newest?.chain.through ?? 0, users: 0)
        report.archivedEvents = newest?.chain.through
        for tree in kept {
            let root = newest.flatMap { roots[Place(history: $0.history.id(at: Seq(tree.size)), size: tree.size)] }
            let isExtended = tree.size == 0 ? tree.root == .ofEmptyTree : root == tree.root
            report.extends.append(isExtended)
            guard !isExtended else { continue }
            if tree.size > report.events {
                findings.add(
                    "the archive ends at event \(report.events), before the tree head of \(tree.size) events")
            } else if root == nil {
                findings.add("the tree head of \(tree.size) events cannot be compared, because of what comes before it")
            } else {
                findings.add("the archive does not extend the tree head of \(tree.size) events: its events are others")
            }
        }
        report.findings = findings.words
        return report
    }

    /// Goes through the segments of a history that no earlier one has gone through.
    private mutating func walk(_ branch: SegmentBranch, progress: (UInt64) -> Void) throws {
        if let gap = branch.chain.gap { findings.add(segments.missing(gap).message) }
        var (base, start): (Base?, UInt64) = (Base(), 1)
        if let fork = branch.history.forks.last {
            let place = Place(history: branch.history.id(at: fork.after), size: UInt64(fork.after))
            if let known = bases[place] { (base, start) = (known, UInt64(fork.after) + 1) }
        }
        for link in branch.chain.links where link.last >= start { try check(link, &base, progress: progress) }
    }

    /// Checks a segment, and that it goes on from the events before it.
    ///
    /// - Parameter base: the log before it; nil to check it by itself.
    private mutating func check(
        _ link: SegmentChain.Link, _ base: inout Base?, progress: (UInt64) -> Void
    ) throws {
        try Cancellation.checkCurrent()
        let isNew = seen.insert(link.name).inserted
        defer {
            if isNew { done &+= link.name.events }
            progress(done)
        }
        let (reader, end): (ArchiveReader, SegmentEnd)
        do {
            (reader, end) = try segments.open(link.name)
        } catch {
            guard error.code.isOfTheFile else { throw error }
            findings.add(error.message)
            base = base.map { _ in Base(tree: nil) }
            return
        }
        if let store, store != reader.summary.header.store {
            findings.add(ArchiveError(.otherStore, path: reader.path, "it has events of another store").message)
        }
        store = store ?? reader.summary.header.store
        if let root = base?.root, link.first == link.name.first, root != end.rootBefore {
            findings.add(damage(reader, link.first, "it goes on from other events than those before it"))
        }
        let start = done
        var next = link.first
        var faults: [String] = []
        try reader.verify(
            finding: { error in faults.append(error.message) }, progress: { count, _ in progress(start &+ count) },
            event: { seq, record, payload in
                if seq.isMultiple(of: 1_024) { try Cancellation.checkCurrent() }
                guard seq >= link.first, seq <= link.last else { return }
                if seq != next { base?.tree = nil }
                next = seq + 1
                if let fault = try take(
                    LogRow(seq: seq, record: record, payload: payload), in: link.name.history, &base)
                {
                    faults.append(damage(reader, seq, fault))
                }
            })
        if isNew { for fault in faults { findings.add(fault) } }
        if !faults.isEmpty || next != link.last + 1 { base?.tree = nil }
        if let tree = base?.tree, link.last == link.name.last, tree.head.root != end.rootAfter {
            findings.add(damage(reader, nil, "its events are not those of its tree head"))
            base?.tree = nil
        }
        base?.root = link.last == link.name.last ? end.rootAfter : nil
    }

    private func damage(_ reader: ArchiveReader, _ seq: UInt64?, _ reason: String) -> String {
        ArchiveError(.damaged, path: reader.path, seq: seq, reason).message
    }

    /// - Returns: what is wrong with the event; nil for nothing.
    private mutating func take(_ row: LogRow, in history: UInt64, _ base: inout Base?) throws -> String? {
        let leaf: EventLeaf
        let header: RecordHeader
        do throws(CodecError) {
            header = try RecordHeader.read(RawSpan(_elements: row.record.span), seq: row.seq)
        } catch {
            return error.reason
        }
        do {
            leaf = try row.leaf()
            _ = try row.event()
        } catch let error as CodecError {
            return error.reason
        }
        guard base != nil else { return nil }
        base?.tree?.append(leafHash: leaf.hash)
        if sizes.contains(row.seq), let root = base?.tree?.head.root {
            roots[Place(history: history, size: row.seq)] = root
        }
        defer {
            if forks.contains(row.seq), var base {
                base.root = base.tree?.head.root
                bases[Place(history: history, size: row.seq)] = base
            }
        }
        if let newest = base?.newest, header.recordedAt < newest { return "it was recorded before the event before it" }
        base?.newest = header.recordedAt
        guard base?.tree != nil else { return nil }
        do {
            return try base?.revisions.finding(row.seq, header) { _ in nil } ?? nil
        } catch let error as CodecError {
            return error.reason
        }
    }
}
