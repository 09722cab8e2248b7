import TraylogLog

/// Writes one archive.
///
/// The file gets its name after ``finish()`` has read all of it back. Before that, and after an error, there is no
/// archive. For one thread.
///
/// ```swift
/// let writer = try ArchiveWriter(directory: path, header: ArchiveHeader(store: identity, through: floor))
/// try writer.append(seq: 1, record: record, payload: payload)
/// let summary = try writer.finish()
/// ```
package final class ArchiveWriter {
    /// The name that the file will get, without the directory.
    package let name: String
    package private(set) var events: UInt64 = 0
    private let header: ArchiveHeader
    /// Nil after ``finish()``, ``cancel()`` and failed writes.
    private var partial: PartialFile?
    private let zstd = ZstdCompressor()
    /// The events of the present block.
    private var block: [UInt8] = []
    private var blockFirst: UInt64 = 0
    private var blockEvents: UInt32 = 0
    private var stored: [UInt8] = []
    private var index: [UInt8] = []
    private var (first, last, rawBytes) = (UInt64(0), UInt64(0), UInt64(0))
    private var offset: UInt64 = 0
    private var fileChecksum: UInt32 = 0

    /// Begins a file in `directory`.
    ///
    /// It creates the directory (0700) if it is missing, and deletes the leftovers of processes that were killed.
    ///
    /// - Throws: ``ArchiveError``: `unusableDirectory`, `permissionDenied`, `diskFull`.
    package convenience init(directory: String, header: ArchiveHeader) throws {
        let directory = ArchiveDirectory(directory)
        try directory.create()
        try directory.removeLeftovers()
        try self.init(directory, header, name: nil)
    }

    /// - Parameter name: the name of the archive to replace; nil for a new one.
    init(_ directory: ArchiveDirectory, _ header: ArchiveHeader, name: String?) throws(ArchiveError) {
        let partial = try PartialFile(in: directory, name: name) { ArchiveDirectory.newName(through: header.through) }
        self.name = partial.name
        self.header = header
        self.partial = consume partial
        block.reserveCapacity(ArchiveBlock.usualRawBytes + 4_096)
        try write(header.bytes, to: file())
    }

    /// Adds the next event.
    ///
    /// - Parameters:
    ///   - seq: above 0, and above the previous event's.
    ///   - record: as in the log.
    ///   - payload: the payload of a chunked record, put together; empty for any other.
    /// - Throws: ``CodecError`` when the bytes are not those of the event; ``ArchiveError`` when they cannot be written,
    ///   `diskFull` for example. After that nothing can be added.
    package func append(seq: UInt64, record: RawSpan, payload: RawSpan) throws {
        precondition(seq > last, "events come in their order")
        try ArchivedEvent.verify(seq: seq, record: record, payload: payload)
        if blockEvents == 0 { blockFirst = seq }
        if events == 0 { first = seq }
        ArchivedEvent.append(seq: seq, record: record, payload: payload, to: &block)
        last = seq
        events += 1
        blockEvents += 1
        if block.count >= ArchiveBlock.usualRawBytes { try closeBlock(file()) }
    }

    /// Makes the archive durable, reads it back, checks all of it, and names it.
    ///
    /// Afterwards nothing can be added.
    ///
    /// - Parameter segment: what a segment says of the log around it; its name must be free.
    /// - Throws: ``ArchiveError``. Then there is no archive; but the name of a segment may be there by a failure of the last step,
    ///   which makes it durable.
    package func finish(_ segment: SegmentEnd? = nil) throws(ArchiveError) -> ArchiveSummary {
        precondition(header.isSegment == (segment != nil), "a segment has an end, and nothing else has")
        guard var partial = partial.take() else { preconditionFailure("an archive is finished once") }
        let summary = try complete(partial.file, segment)
        try partial.publish(replacing: segment == nil)
        return summary
    }

    /// The same for a segment that gets its name under a condition.
    ///
    /// - Parameter whenDurable: calls its argument, which names the file, or leaves that; then there is no segment.
    package func finish(
        _ segment: SegmentEnd, whenDurable: (_ publish: () throws -> Void) throws -> Void
    ) throws {
        guard var partial = partial.take() else { preconditionFailure("an archive is finished once") }
        _ = try complete(partial.file, segment)
        try whenDurable { try partial.publish(replacing: false) }
    }

    /// Deletes the unfinished file, as releasing the writer does.
    package func cancel() {
        partial = nil
    }
}

extension ArchiveWriter {
    private func complete(_ file: ArchiveFile, _ segment: SegmentEnd?) throws(ArchiveError) -> ArchiveSummary {
        try closeBlock(file)
        let (index, segmentEnd) = (index, segment?.bytes ?? [])
        let beforeFooter = crc32c(
            RawSpan(_elements: segmentEnd.span), from: crc32c(RawSpan(_elements: index.span), from: fileChecksum))
        let footer = ArchiveFooter(
            indexOffset: offset, blocks: UInt64(index.count / ArchiveBlock.byteCount), events: events, first: first,
            last: last, rawBytes: rawBytes, indexChecksum: crc32c(RawSpan(_elements: index.span)),
            fileChecksum: beforeFooter)
        try write(index + segmentEnd, to: file)
        try write(footer.bytes, to: file)
        try file.sync()
        let written = try ArchiveReader.open(file.path, name: name)
        guard written.segment == segment else {
            throw ArchiveError(.damaged, path: file.path, "what was written does not read back")
        }
        try written.check(footer, header)
        return written.summary
    }

    private func file() -> ArchiveFile {
        guard let file = partial?.file else { preconditionFailure("the archive is finished, or could not be written") }
        return file
    }

    /// Compresses the events so far, if there are any, and writes them.
    private func closeBlock(_ file: ArchiveFile) throws(ArchiveError) {
        guard blockEvents > 0 else { return }
        // Moved out of `self` while they are borrowed, and back at the end to keep their memory.
        var (raw, stored): ([UInt8], [UInt8]) = ([], [])
        swap(&raw, &block)
        swap(&stored, &self.stored)
        do throws(ZstdFailure) {
            try zstd.compress(RawSpan(_elements: raw.span), into: &stored)
        } catch {
            throw ArchiveError(.inputOutput, path: file.path, "zstd: \(error.reason)")
        }
        try write(frame(of: raw, stored), to: file)
        try write(stored, to: file)
        rawBytes += UInt64(raw.count)
        raw.removeAll(keepingCapacity: raw.count <= 2 * ArchiveBlock.usualRawBytes)
        blockEvents = 0
        swap(&raw, &block)
        swap(&stored, &self.stored)
    }

    /// The frame before the compressed bytes.
    ///
    /// Also adds the block to the index.
    private func frame(of raw: borrowing [UInt8], _ stored: borrowing [UInt8]) -> [UInt8] {
        var row = ArchiveBlock(
            first: blockFirst, offset: offset, storedBytes: UInt32(stored.count), rawBytes: UInt32(raw.count),
            events: blockEvents, checksum: 0)
        var frame = row.checkedFrame
        let checksum = crc32c(RawSpan(_elements: stored.span), from: crc32c(RawSpan(_elements: frame.span)))
        row.checksum = checksum
        frame.append(addingCapacity: 4) { $0.append(littleEndian: checksum) }
        row.append(to: &index)
        return frame
    }

    private func write(_ bytes: [UInt8], to file: ArchiveFile) throws(ArchiveError) {
        do throws(ArchiveError) {
            try file.write(RawSpan(_elements: bytes.span))
        } catch {
            // Part of a block may be written, so the file is useless.
            partial = nil
            throw error
        }
        offset += UInt64(bytes.count)
        fileChecksum = crc32c(RawSpan(_elements: bytes.span), from: fileChecksum)
    }
}
