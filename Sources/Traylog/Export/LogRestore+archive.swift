import TraylogArchive
import TraylogAudit
@_spi(Replication) import TraylogDomain
import TraylogLog
import TraylogPlatform
import TraylogStates

@_spi(Operations) extension LogRestore {
    /// A part of the restore of an archive.
    public enum Part: String, Sendable, Codable {
        /// Reads events from the archive, and stores them.
        case restore
        /// Derives the states from the log.
        case fold
    }

    /// Restores the log from an archive of it (``StoreUpkeep/archive(to:)``), byte for byte, and derives the states.
    ///
    /// Each byte that is read has been checked. At the first one that is not as it was written, or at the first missing event, the
    /// restore ends with what came before, which is a sound store; the report names the place. The store is a copy of the archived
    /// one: it has the same identity, and its next event begins a history of its own. It notes where it came from, so that its
    /// erasures rewrite that archive, and ``TrayQueries/archiveStates()`` says how far that is behind.
    ///
    /// - Parameters:
    ///   - archive: the directory with the files.
    ///   - directory: a store that is missing or empty.
    ///   - moment: restores the store as it was then; nil for all events of the archive.
    ///   - mark: of the history to restore, where the archive has several; nil for the one with the newest event.
    ///   - progress: called with the number of finished events of a part, and of all.
    /// - Throws: ``TraylogError``: refused `invalid` for a seq beyond the archive's last event, and for a history that it does not
    ///   have; failed `notFound` without an archive, `unusableTarget` for a store with events, `foreignFile` for files of several
    ///   stores, `diskFull`.
    /// - Complexity: reads the archive, and folds the log.
    public static func run(
        archive: String, to directory: String, options: StoreOptions = StoreOptions(), through moment: Moment? = nil,
        branch mark: String? = nil, progress: (_ part: Part, _ done: UInt64, _ total: UInt64) -> Void = { _, _, _ in }
    ) throws(TraylogError) -> RestoreReport {
        let segments = SegmentDirectory(archive)
        do {
            let (branch, others) = try segments.branch(mark)
            if case .seq(let seq)? = moment, seq.rawValue > branch.chain.through {
                throw Refusal.invalid(
                    field: "through", reason: "the archive ends at event \(branch.chain.through), before event \(seq)")
            }
            let restore = try LogRestore(directory: directory, options: options, through: moment)
            defer { restore.close() }
            var end = branch.chain.through
            if case .seq(let seq)? = moment { end = seq.rawValue }
            let damage = try restore.add(branch.chain, of: segments) { progress(.restore, $0, end) }
            var report = try restore.finish { progress(.fold, $0, $1) }
            report.damage = damage
            // An erasure in the restored store has to reach the archive, too, also if nobody archives it any more.
            try ArchivePlaces.note(Files.absolutePath(of: archive), in: directory)
            if !others.isEmpty {
                report.branch = branch.name
                report.otherBranches = others.map(\.name)
            }
            return report
        } catch {
            throw TraylogError(error, in: archive)
        }
    }

    /// Adds the events of a chain, as far as they are sound.
    ///
    /// - Returns: what is wrong with the next one; nil when all are there.
    private func add(
        _ chain: SegmentChain, of segments: SegmentDirectory, progress: (UInt64) -> Void
    ) throws -> String? {
        var before: (store: StoreIdentity, root: MerkleHash?)?
        for link in chain.links where !isComplete {
            do {
                let (reader, end) = try segments.open(link.name)
                let store = reader.summary.header.store
                if let before {
                    guard before.store == store else {
                        throw ArchiveError(.otherStore, path: reader.path, "it has events of another store")
                    }
                    // Where a segment is taken in part, only `verify` can tell.
                    guard link.first > link.name.first || before.root ?? end.rootBefore == end.rootBefore else {
                        throw ArchiveError(
                            .damaged, path: reader.path, seq: link.first,
                            "it goes on from other events than those before it")
                    }
                } else {
                    become(StoreRecord(archived: end))
                }
                note(end.history)
                try add(reader, link, progress: progress)
                before = (store, link.last == link.name.last ? end.rootAfter : nil)
            } catch let error as ArchiveError where error.code.isOfTheFile {
                return error.message
            } catch let error as CodecError {
                return ArchiveError(.damaged, path: segments.path(of: link.name), seq: error.seq, error.reason).message
            }
        }
        guard !isComplete, let gap = chain.gap else { return nil }
        return segments.missing(gap).message
    }

    private func add(_ reader: ArchiveReader, _ link: SegmentChain.Link, progress: (UInt64) -> Void) throws {
        var cursor = try reader.cursor(from: link.first)
        while let seq = cursor.seq, seq <= link.last, !isComplete {
            guard seq == head + 1 else {
                throw ArchiveError(.damaged, path: reader.path, seq: seq, "the event before it is missing")
            }
            try cursor.withEvent { record, payload in try add(archived: record, payload: payload) }
            if seq.isMultiple(of: 1_024) { progress(seq) }
            try cursor.advance()
        }
        guard isComplete || head == link.last else {
            throw ArchiveError(.damaged, path: reader.path, seq: head + 1, "it is missing")
        }
        progress(head)
    }
}

extension SegmentDirectory {
    /// - Parameter mark: of a history, as a report names it; nil for the one with the newest event.
    /// - Returns: also the others.
    /// - Throws: ``ArchiveError`` `noArchives`, ``Refusal``.
    fileprivate func branch(_ mark: String?) throws -> (SegmentBranch, others: [SegmentBranch]) {
        let names = try segments()
        guard !names.isEmpty else {
            throw ArchiveError(.noArchives, path: path, "the directory has no files of a log")
        }
        var branches = branches(names)
        let index = mark.map { mark in branches.firstIndex { $0.name == mark } } ?? branches.startIndex
        guard let index, branches.indices.contains(index) else {
            let marks = branches.map { "'\($0.name)'" }.joined(separator: ", ")
            throw Refusal.invalid(field: "branch", reason: "the archive has no such history; it has \(marks)")
        }
        let chosen = branches.remove(at: index)
        // An earlier history that another one took up whole is a part of that one, and nothing of its own.
        return (chosen, branches.filter { !$0.isPart(of: chosen) })
    }
}

extension SegmentBranch {
    fileprivate func isPart(of other: SegmentBranch) -> Bool {
        other.history.lastShared(with: history.mark).map { UInt64($0) >= chain.through } ?? false
    }
}
