import TraylogLog

/// Replaces events of an archive, for an erasure: by what is left of them when their payload is gone.
package enum ArchiveRewriter {
    /// Copies an archive with other records in the place of some, and puts the copy in its place in one step. Killed
    /// before, the archive is as it was, and the next writer or rewriter in the directory takes the unfinished copy
    /// away.
    ///
    /// When nothing is replaced, the file stays as it is.
    ///
    /// - Parameters:
    ///   - path: of the archive. Who has it open reads on from what it was.
    ///   - replacement: the record that takes the place of an event, whole, without chunks; nil keeps the event.
    ///   - progress: events copied, and all.
    /// - Returns: how many were replaced.
    /// - Throws: ``ArchiveError``, also for damage anywhere in the archive, which then stays as it was; ``CodecError`` for
    ///   a replacement that is no record of the event; what `replacement` throws.
    @discardableResult
    package static func rewrite(
        _ path: String,
        replacement: (_ seq: UInt64, _ record: RawSpan, _ payload: RawSpan) throws -> [UInt8]?,
        progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) throws -> UInt64 {
        let (directory, name) = split(path)
        try directory.removeLeftovers()
        let reader = try ArchiveReader.open(path)
        let writer = try ArchiveWriter(directory, reader.summary.header, name: name)
        var replaced: UInt64 = 0
        var cursor = try reader.cursor()
        while let seq = cursor.seq {
            try cursor.withEvent { record, payload in
                // Damage must not be written anew under a checksum that is right.
                try reader.verify(seq: seq, record: record, payload: payload)
                guard let other = try replacement(seq, record, payload) else {
                    return try writer.append(seq: seq, record: record, payload: payload)
                }
                replaced += 1
                try writer.append(seq: seq, record: RawSpan(_elements: other.span), payload: RawSpan())
            }
            try cursor.advance()
            progress(writer.events, reader.summary.events)
        }
        guard replaced > 0 else {
            writer.cancel()
            return 0
        }
        _ = try writer.finish()
        return replaced
    }

    private static func split(_ path: String) -> (ArchiveDirectory, String) {
        guard let slash = path.lastIndex(of: "/") else { return (ArchiveDirectory("."), path) }
        let directory = slash == path.startIndex ? "/" : String(path[..<slash])
        return (ArchiveDirectory(directory), String(path[path.index(after: slash)...]))
    }
}
