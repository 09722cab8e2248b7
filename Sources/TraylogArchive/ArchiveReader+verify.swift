import TraylogLog

extension ArchiveReader {
    /// Checks every byte: blocks, order, counts, each event's own checksum, and the checksum of the whole file.
    ///
    /// - Parameters:
    ///   - finding: called for each fault. The events of a damaged block are not looked at.
    ///   - progress: called with the number of events checked, and of all events.
    ///   - event: called for each sound event.
    /// - Throws: what `event` throws, and ``ArchiveError`` `inputOutput`.
    package func verify(
        finding: (ArchiveError) -> Void, progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in },
        event: (_ seq: UInt64, _ record: RawSpan, _ payload: RawSpan) throws -> Void = { _, _, _ in }
    ) throws {
        var check = ArchiveCheck(file: file)
        let zstd = ZstdDecompressor()
        var (block, stored): ([UInt8], [UInt8]) = ([], [])
        var done: UInt64 = 0
        for row in blocks {
            do throws(ArchiveError) {
                try load(row, into: &block, stored: &stored, with: zstd)
                try check.shape(of: block, row)
            } catch {
                guard error.code != .inputOutput else { throw error }
                check.isWhole = false
                finding(error)
                continue
            }
            try forEachEvent(of: block, finding: finding, event)
            done += UInt64(row.events)
            progress(done, summary.events)
        }
        if !blocks.isEmpty, check.isWhole, check.last != footer.last {
            finding(ArchiveError(.damaged, path: file.path, "its last event is not the one in its footer"))
        }
        if let error = try wholeFileDamage() { finding(error) }
    }

    /// Checks that record and payload of an event are those that were written.
    package func verify(seq: UInt64, record: RawSpan, payload: RawSpan) throws(ArchiveError) {
        do throws(CodecError) {
            try ArchivedEvent.verify(seq: seq, record: record, payload: payload)
        } catch {
            throw ArchiveError(error.code == .newer ? .newer : .damaged, path: file.path, seq: seq, error.reason)
        }
    }

    /// Checks a file that was just written.
    func check(_ written: ArchiveFooter, _ header: ArchiveHeader) throws(ArchiveError) {
        guard footer == written, summary.header == header else {
            throw ArchiveError(.damaged, path: file.path, "what was written does not read back")
        }
        var first: ArchiveError?
        do {
            try verify(finding: { first = first ?? $0 })
        } catch let error as ArchiveError {
            first = error
        } catch {
            preconditionFailure("nothing else is thrown")
        }
        if let first { throw first }
    }

    private func forEachEvent(
        of block: [UInt8], finding: (ArchiveError) -> Void, _ body: (UInt64, RawSpan, RawSpan) throws -> Void
    ) throws {
        let span = RawSpan(_elements: block.span)
        var offset = 0
        while offset < block.count, let event = ArchivedEvent.read(span, at: offset) {
            offset = event.payload.upperBound
            let (record, payload) = (span.extracting(event.record), span.extracting(event.payload))
            do throws(ArchiveError) {
                try verify(seq: event.seq, record: record, payload: payload)
            } catch {
                finding(error)
                continue
            }
            try body(event.seq, record, payload)
        }
    }

    private func wholeFileDamage() throws(ArchiveError) -> ArchiveError? {
        var bytes: [UInt8] = []
        var (offset, crc) = (UInt64(0), UInt32(0))
        let end = summary.bytes - UInt64(ArchiveFooter.byteCount)
        while offset < end {
            try file.read(Int(min(end - offset, 1 << 20)), at: offset, into: &bytes)
            crc = crc32c(RawSpan(_elements: bytes.span), from: crc)
            offset += UInt64(bytes.count)
        }
        guard crc != footer.fileChecksum else { return nil }
        return ArchiveError(.damaged, path: file.path, "the checksum of the whole file does not match")
    }
}

/// The state of a verification, from one block to the next.
private struct ArchiveCheck {
    let file: ArchiveFile
    /// The seq of the last event so far.
    var last: UInt64 = 0
    /// Whether all blocks so far could be read.
    var isWhole = true

    /// Checks that a block consists of its events, in order.
    mutating func shape(of block: [UInt8], _ row: ArchiveBlock) throws(ArchiveError) {
        let span = RawSpan(_elements: block.span)
        var (offset, events, previous) = (0, UInt32(0), last)
        while offset < block.count {
            guard let event = ArchivedEvent.read(span, at: offset), event.seq > previous else {
                throw damage("the events of its block are out of order", row)
            }
            guard events > 0 || event.seq == row.first else { throw damage("its block begins with another event", row) }
            previous = event.seq
            offset = event.payload.upperBound
            events += 1
        }
        guard events == row.events else { throw damage("its block has \(events) events instead of \(row.events)", row) }
        last = previous
    }

    private func damage(_ reason: String, _ row: ArchiveBlock) -> ArchiveError {
        ArchiveError(.damaged, path: file.path, seq: row.first, reason)
    }
}
