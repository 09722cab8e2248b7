@_spi(Replication) import TraylogDomain
import TraylogLog
import TraylogPlatform

/// A directory with the log of a store as segments.
package struct SegmentDirectory: Sendable {
    /// Locked by whoever adds segments, as long as that goes on.
    private static let lockName = "archiver.lock"

    let directory: ArchiveDirectory

    package init(_ path: String) { directory = ArchiveDirectory(path) }

    package var path: String { directory.path }

    package func path(of name: SegmentName) -> String { directory.path(of: name.text) }

    /// Whether there is a directory with a segment.
    package static func isOne(_ path: String) -> Bool {
        guard let names = try? ArchiveDirectory(path).names() else { return false }
        return names.contains { SegmentName($0) != nil }
    }

    /// Its segments, in the order of their first events.
    ///
    /// The files are not opened, so each may be damaged.
    package func segments() throws(ArchiveError) -> [SegmentName] {
        try directory.archives().compactMap { SegmentName($0) }
            .sorted { ($0.first, $0.last, $0.rewrites) < ($1.first, $1.last, $1.rewrites) }
    }

    /// Opens a segment, and checks that it is what its name says.
    package func open(_ name: SegmentName) throws(ArchiveError) -> (reader: ArchiveReader, end: SegmentEnd) {
        let reader = try ArchiveReader.open(path(of: name))
        guard let end = reader.segment else {
            throw ArchiveError(.damaged, path: reader.path, "it has the name of a segment, and is none")
        }
        let summary = reader.summary
        guard summary.first == name.first, summary.last == name.last, summary.header.history == name.history else {
            throw ArchiveError(.damaged, path: reader.path, "its name is not that of its events")
        }
        return (reader, end)
    }

    /// The histories of the archive, the one with the newest event first.
    ///
    /// - Parameter unreadable: called for the last segment of a history that cannot be read; then an earlier one is asked.
    package func branches(
        _ segments: [SegmentName], unreadable: (ArchiveError) -> Void = { _ in }
    ) -> [SegmentBranch] {
        let histories = Dictionary(grouping: segments, by: \.history)
        var branches: [SegmentBranch] = []
        for (history, names) in histories {
            for name in names.sorted(by: { ($0.last, $0.rewrites) > ($1.last, $1.rewrites) }) {
                do {
                    let end = try open(name).end
                    branches.append(
                        SegmentBranch(
                            history: end.history, chain: SegmentChain(segments, of: end.history), lastAt: end.lastAt))
                    break
                } catch {
                    unreadable(error)
                }
            }
            // Every store begins with that history, so nothing has to be read to know it.
            if history == 0, !branches.contains(where: { $0.history.forks.isEmpty }) {
                let history = StoreHistory()
                branches.append(SegmentBranch(history: history, chain: SegmentChain(segments, of: history)))
            }
        }
        return branches.sorted { ($0.lastAt, $0.chain.through) > ($1.lastAt, $1.chain.through) }
    }
}

extension SegmentDirectory {
    /// The error for events that no segment has.
    package func missing(_ gap: ClosedRange<UInt64>) -> ArchiveError {
        ArchiveError(
            .missingEvents, path: path,
            gap.count == 1
                ? "no file has event \(gap.lowerBound)"
                : "no file has the events \(gap.lowerBound) to \(gap.upperBound)")
    }
}

// MARK: Writing

extension SegmentDirectory {
    /// Makes the directory ready for the only process that adds segments, until the lock is released.
    ///
    /// It creates the directory (0700) if it is missing, and deletes what a killed run left unfinished.
    package func claim() throws(ArchiveError) -> SegmentLock {
        try directory.create()
        let path = directory.path(of: Self.lockName)
        let file = try ArchiveError.attempt(path, FileDescriptor(openingOrCreating: path, owner: nil))
        do {
            try file.lock()
        } catch {
            // Some network file systems have no locks; nobody can hold one there either.
            if error == .tryAgain {
                file.close()
                throw ArchiveError(.busy, path: directory.path, "another process archives to this directory")
            }
        }
        let lock = SegmentLock(file)
        try directory.removeLeftovers()
        return lock
    }

    /// Runs `body` while no other process adds, rewrites or removes a segment.
    package func exclusively<Result>(_ body: () throws -> Result) throws -> Result {
        let file = try ArchiveError.attempt(path, FileDescriptor(opening: path, [.reading, .directory]))
        defer { file.close() }
        waiting: while true {
            do {
                try file.lock()
                break
            } catch {
                guard error == .tryAgain else { break waiting }
                OSThread.sleep(milliseconds: 10)
            }
        }
        return try body()
    }

    /// Writes a segment; the name is there when it is durable, and was read back.
    ///
    /// - Parameter rows: all events of the segment, in order.
    package func write(
        _ name: SegmentName, store: StoreIdentity, _ end: SegmentEnd, _ rows: [LogRow]
    ) throws -> ArchiveSummary {
        let writer = try ArchiveWriter(
            directory,
            ArchiveHeader(store: store, through: name.last, history: name.history, isSegment: true), name: name.text)
        for row in rows {
            try writer.append(
                seq: row.seq, record: RawSpan(_elements: row.record.span),
                payload: RawSpan(_elements: row.payload.span))
        }
        return try writer.finish(end)
    }

    /// Replaces events in all segments that have some of them; only within ``exclusively(_:)``.
    ///
    /// A segment with replaced events gets a new name, and the old file is removed. Killed at any moment, each segment is there
    /// before or after, or both; then the new one counts, and the next run removes the old one.
    ///
    /// - Parameters:
    ///   - store: segments of another store are left alone.
    ///   - mayHold: whether a segment may have such events at all, before it is read.
    ///   - isConcerned: whether an event is replaced.
    ///   - replacement: its whole record, without chunks.
    /// - Returns: the new names, and the removed ones.
    /// - Throws: ``ArchiveError``, also for damage in a segment; what the functions throw.
    package func rewrite(
        of store: StoreIdentity, where mayHold: (SegmentName, SegmentEnd) -> Bool = { _, _ in true },
        isConcerned: (_ seq: UInt64, _ record: RawSpan) throws -> Bool,
        replacement: (_ seq: UInt64, _ record: RawSpan, _ payload: RawSpan) throws -> [UInt8]?
    ) throws -> (new: [SegmentName], old: [SegmentName]) {
        var (new, old): ([SegmentName], [SegmentName]) = ([], [])
        try directory.removeLeftovers()
        let contents = try contents()
        let isShipping = contents.isShipping
        for name in contents.segments {
            let (reader, end) = try open(name)
            guard reader.summary.header.store == store, mayHold(name, end), try reader.holds(isConcerned) else {
                continue
            }
            let next = SegmentName(
                first: name.first, last: name.last, history: name.history, rewrites: name.rewrites &+ 1)
            if !Files.exists(path(of: next)) {
                let writer = try ArchiveWriter(directory, reader.summary.header, name: next.text)
                var cursor = try reader.cursor()
                while let seq = cursor.seq {
                    try cursor.withEvent { record, payload in
                        // Damage must not be written again under a valid checksum.
                        try reader.verify(seq: seq, record: record, payload: payload)
                        guard let other = try replacement(seq, record, payload) else {
                            return try writer.append(seq: seq, record: record, payload: payload)
                        }
                        try writer.append(seq: seq, record: RawSpan(_elements: other.span), payload: RawSpan())
                    }
                    try cursor.advance()
                }
                _ = try writer.finish(end)
                new.append(next)
            }
            try remove(name, isDeletedElsewhere: isShipping)
            old.append(name)
        }
        return (new, old)
    }
}

extension ArchiveReader {
    /// Whether an event is what `isWanted` looks for.
    fileprivate func holds(_ isWanted: (_ seq: UInt64, _ record: RawSpan) throws -> Bool) throws -> Bool {
        var cursor = try cursor()
        while let seq = cursor.seq {
            if try cursor.withEvent({ record, _ in try isWanted(seq, record) }) { return true }
            try cursor.advance()
        }
        return false
    }
}

/// The right to add segments to a directory, until it is released.
package final class SegmentLock: Sendable {
    private let file: FileDescriptor

    init(_ file: FileDescriptor) { self.file = file }

    deinit { file.close() }
}
