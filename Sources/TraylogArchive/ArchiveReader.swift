import TraylogLog

/// An archive open for reading, from any number of threads.
///
/// Holds the file open and the index of its blocks in memory: 32 bytes for each 256 KiB of events. It keeps reading the
/// old file when an archive is replaced.
package final class ArchiveReader: Sendable {
    package let summary: ArchiveSummary
    package var path: String { file.path }
    let file: ArchiveFile
    let footer: ArchiveFooter
    let blocks: [ArchiveBlock]
    /// What a segment says of the log around it; nil for the archive of a compaction.
    package let segment: SegmentEnd?

    /// Opens a file and checks header, footer and index.
    ///
    /// Blocks are checked when they are read.
    ///
    /// - Throws: ``ArchiveError``: `notFound`, `notAnArchive`, `newer`, `truncated`, `damaged`, `permissionDenied`.
    package static func open(_ path: String) throws(ArchiveError) -> ArchiveReader {
        try open(path, name: path.split(separator: "/").last.map(String.init) ?? path)
    }

    static func open(_ path: String, name: String) throws(ArchiveError) -> ArchiveReader {
        let file = try ArchiveFile(reading: path)
        let size = try file.size()
        var bytes: [UInt8] = []
        try file.read(Int(min(size, UInt64(ArchiveHeader.byteCount))), at: 0, into: &bytes)
        let header = try ArchiveHeader.read(RawSpan(_elements: bytes.span), path: path)
        guard size >= UInt64(ArchiveHeader.byteCount + ArchiveFooter.byteCount) else {
            throw ArchiveError(.truncated, path: path, "the end of the archive is missing")
        }
        let end = size - UInt64(ArchiveFooter.byteCount)
        try file.read(ArchiveFooter.byteCount, at: end, into: &bytes)
        let footer = try ArchiveFooter.read(RawSpan(_elements: bytes.span), path: path)
        let segment = try header.isSegment ? SegmentEnd.read(file, before: end) : nil
        let blocks = try index(of: file, footer, end: segment?.start ?? end)
        try segment?.end.check(header, footer, file.path)
        let summary = ArchiveSummary(
            name: name, header: header, events: footer.events, first: footer.first, last: footer.last, bytes: size,
            rawBytes: footer.rawBytes)
        return ArchiveReader(summary: summary, file: file, footer: footer, blocks: blocks, segment: segment?.end)
    }

    private init(
        summary: ArchiveSummary, file: ArchiveFile, footer: ArchiveFooter, blocks: [ArchiveBlock],
        segment: SegmentEnd?
    ) {
        self.summary = summary
        self.file = file
        self.footer = footer
        self.blocks = blocks
        self.segment = segment
    }

    /// Events from `seq` on, in order.
    ///
    /// - Complexity: reads one block of at most 256 KiB (or one large event).
    package func cursor(from seq: UInt64 = 0) throws(ArchiveError) -> ArchiveCursor {
        try ArchiveCursor(self, from: seq)
    }

    /// Lends record and payload of one event, of which only the block's checksum was checked; nil when the archive does
    /// not hold the event.
    package func event<R>(_ seq: UInt64, _ body: (_ record: RawSpan, _ payload: RawSpan) throws -> R) throws -> R? {
        let cursor = try cursor(from: seq)
        guard cursor.seq == seq else { return nil }
        return try cursor.withEvent(body)
    }
}

extension ArchiveReader {
    /// Reads the index, and checks that its blocks fill the file between header and index.
    private static func index(
        of file: ArchiveFile, _ footer: ArchiveFooter, end: UInt64
    ) throws(ArchiveError) -> [ArchiveBlock] {
        let (indexBytes, isTooLarge) = footer.blocks.multipliedReportingOverflow(by: UInt64(ArchiveBlock.byteCount))
        guard !isTooLarge, indexBytes <= end, end - indexBytes == footer.indexOffset else {
            throw ArchiveError(.damaged, path: file.path, "its length is not the one in its footer")
        }
        var bytes: [UInt8] = []
        try file.read(Int(indexBytes), at: footer.indexOffset, into: &bytes)
        let span = RawSpan(_elements: bytes.span)
        guard crc32c(span) == footer.indexChecksum else {
            throw ArchiveError(.damaged, path: file.path, "the checksum of its index does not match")
        }
        let blocks = (0..<Int(footer.blocks)).map { ArchiveBlock.read(span, at: $0 * ArchiveBlock.byteCount) }
        guard areInOrder(blocks, footer) else {
            throw ArchiveError(.damaged, path: file.path, "its index does not fit its footer")
        }
        return blocks
    }

    private static func areInOrder(_ blocks: [ArchiveBlock], _ footer: ArchiveFooter) -> Bool {
        var (end, events, rawBytes) = (UInt64(ArchiveHeader.byteCount), UInt64(0), UInt64(0))
        var first: UInt64?
        for block in blocks {
            guard block.offset == end, block.events > 0, first.map({ $0 < block.first }) ?? true,
                block.rawBytes <= ArchiveBlock.largestRawBytes
            else { return false }
            first = block.first
            // The offset lies in the file and the sizes have 32 bits, so the sum cannot overflow.
            end = block.end
            events += UInt64(block.events)
            rawBytes += UInt64(block.rawBytes)
            guard end <= footer.indexOffset else { return false }
        }
        return end == footer.indexOffset && events == footer.events && rawBytes == footer.rawBytes
            && footer.first == (blocks.first?.first ?? 0) && footer.last >= (first ?? 0)
    }

    /// Replaces `bytes` by the events of a block.
    func load(
        _ block: ArchiveBlock, into bytes: inout [UInt8], stored: inout [UInt8], with zstd: ZstdDecompressor
    ) throws(ArchiveError) {
        let frameBytes = ArchiveBlock.frameBytes
        try file.read(frameBytes + Int(block.storedBytes), at: block.offset, into: &stored)
        let span = RawSpan(_elements: stored.span)
        let checked = crc32c(span.extracting(frameBytes...), from: crc32c(span.extracting(0..<(frameBytes - 4))))
        let frame = block.checkedFrame
        let isSame = (0..<frame.count).allSatisfy { span.byte(at: $0) == frame[$0] }
        guard isSame, checked == block.checksum, checked == span.littleEndian(at: frameBytes - 4, as: UInt32.self)
        else {
            throw damage(in: block, "the checksum of its block does not match")
        }
        do throws(ZstdFailure) {
            try zstd.decompress(span.extracting(frameBytes...), count: Int(block.rawBytes), into: &bytes)
        } catch {
            if error.isOfTheSystem { throw ArchiveError(.inputOutput, path: file.path, "zstd: \(error.reason)") }
            throw damage(in: block, "its block cannot be decompressed (\(error.reason))")
        }
    }

    func damage(in block: ArchiveBlock, _ reason: String) -> ArchiveError {
        ArchiveError(.damaged, path: file.path, seq: block.first, reason)
    }
}
