/// Replaces events of an archive by their erased records.
package enum ArchiveRewriter {
    /// Copies an archive with some records replaced, and then renames the copy into its place.
    ///
    /// A process that is killed before leaves the archive unchanged; the next writer or rewriter in the directory
    /// deletes the unfinished copy. Without replacements the file stays unchanged, too.
    ///
    /// - Parameters:
    ///   - path: the archive. Readers that have it open keep reading the old file.
    ///   - replacement: returns the whole record, without chunks, that replaces an event; nil keeps the event.
    ///   - progress: called with the number of events copied, and of all events.
    /// - Returns: how many events were replaced.
    /// - Throws: ``ArchiveError``, also for damage anywhere in the archive, which then stays unchanged; ``CodecError`` for
    ///   a replacement that is not a record of the event; what `replacement` throws.
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
                // Damage must not be written again under a valid checksum.
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
