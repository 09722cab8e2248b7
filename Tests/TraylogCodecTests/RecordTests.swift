import TestSupport
import Testing
import TraylogDomain

@testable import TraylogCodec

@Suite struct RecordTests {
    @Test(arguments: [0, 1, 200, 1_951, 1_952])
    func anInlineRecordReadsBack(payloadBytes: Int) throws {
        var random = SeededRandom(seed: UInt64(payloadBytes))
        let payload = random.bytes(payloadBytes)
        var record: [UInt8] = []
        #expect(append(payload, to: &record) == .inline)
        #expect(record.count == 48 + payloadBytes)
        let header = try RecordHeader.read(RawSpan(_elements: record.span))
        #expect(header.kind == .notified && header.stream.rawValue == 7 && header.flags == [])
        #expect(header.recordedAt.milliseconds == 1_700_000_000_123)
        #expect(header.occurredAt == nil)
        #expect(header.salt == Salt(11, 12))
        #expect(
            try RecordCodec.body(seq: 9, header: header, record: RawSpan(_elements: record.span))
                == .inline(48..<record.count))
        try RecordCodec.verify(seq: 9, record: RawSpan(_elements: record.span))
    }

    @Test func aStreamThatCannotBeIsDamage() throws {
        var record: [UInt8] = []
        #expect(append([1, 2, 3], to: &record) == .inline)
        let header = try RecordHeader.read(RawSpan(_elements: record.span))
        try header.checkStream(at: 7)
        #expect(throws: CodecError.self) { try header.checkStream(at: 6) }
        record.replaceSubrange(8..<12, with: [0, 0, 0, 0x80])
        #expect(throws: CodecError.self) { try RecordHeader.read(RawSpan(_elements: record.span)) }
    }

    @Test(arguments: [1_953, 4_080, 4_081, 100_000])
    func aLargePayloadGoesIntoChunks(payloadBytes: Int) throws {
        var random = SeededRandom(seed: UInt64(payloadBytes))
        let payload = random.bytes(payloadBytes)
        var record: [UInt8] = []
        let count = RecordCodec.chunkCount(of: payloadBytes)
        #expect(append(payload, to: &record) == .chunks(count))
        #expect(record.count == 52)

        var check = try ChunkedRecord(seq: 9, record: RawSpan(_elements: record.span))
        #expect(check.byteCount == payloadBytes)
        var joined: [UInt8] = []
        for index in 0..<count {
            let chunk = Array(payload[RecordCodec.chunkRange(index, of: payloadBytes)])
            #expect(chunk.count == RecordCodec.chunkBytes || index == count - 1)
            check.add(RawSpan(_elements: chunk.span))
            joined += chunk
        }
        #expect(joined == payload)
        try check.finish()
        #expect(throws: CodecError.self) {
            try RecordCodec.verify(seq: 9, record: RawSpan(_elements: record.span))
        }
    }

    @Test func chunkKeysSortLikeEventsThenChunks() {
        var keys: [[UInt8]] = []
        for (seq, index) in [(1, 0), (1, 1), (1, 255), (1, 256), (2, 0), (256, 0), (65_536, 65_535)] {
            var key: [UInt8] = []
            RecordCodec.appendChunkKey(seq: UInt64(seq), index: index, to: &key)
            #expect(key.count == 10)
            keys.append(key)
        }
        #expect(keys == keys.sorted { $0.lexicographicallyPrecedes($1) })
        #expect(hex(keys[3]) == "00000000000000010100")
    }

    @Test func anErasedRecordKeepsTimesAndDigestOnly() throws {
        var record: [UInt8] = []
        _ = append([1, 2, 3], to: &record)
        var random = SeededRandom(seed: 4)
        let digest = random.bytes(32)
        var erased: [UInt8] = [0xEE]
        let header = try RecordHeader.read(RawSpan(_elements: record.span))
        RecordCodec.appendErased(
            seq: 9, header: header, digest: RawSpan(_elements: digest.span), to: &erased)
        erased.removeFirst()
        try RecordCodec.verify(seq: 9, record: RawSpan(_elements: erased.span))
        let left = try RecordHeader.read(RawSpan(_elements: erased.span))
        #expect(left.recordedAt == header.recordedAt && left.stream == header.stream && left.revision == 3)
        #expect(left.salt == Salt(0, 0), "with the salt, a short payload could be guessed")
        #expect(Array(erased[48...]) == digest)
        let error = #expect(throws: CodecError.self) {
            try EventDecoder.event(seq: 9, header: left, payload: RawSpan())
        }
        #expect(error?.code == .erased)
    }

    @Test func everyFlippedBitIsDetected() throws {
        var record: [UInt8] = []
        _ = append(Array("some payload".utf8), to: &record)
        for bit in 0..<(record.count * 8) {
            record[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(throws: CodecError.self, "bit \(bit)") {
                try RecordCodec.verify(seq: 9, record: RawSpan(_elements: record.span))
            }
            record[bit / 8] ^= 1 << UInt8(bit % 8)
        }
        #expect(throws: CodecError.self) {
            try RecordCodec.verify(seq: 10, record: RawSpan(_elements: record.span))
        }
    }

    @Test func everyFlippedBitOfAChunkedRecordIsDetected() throws {
        var random = SeededRandom(seed: 5)
        var payload = random.bytes(2_100)
        var record: [UInt8] = []
        _ = append(payload, to: &record)
        for bit in 0..<(record.count * 8) {
            record[bit / 8] ^= 1 << UInt8(bit % 8)
            expectDamage(record, payload)
            record[bit / 8] ^= 1 << UInt8(bit % 8)
        }
        for bit in 0..<(payload.count * 8) {
            payload[bit / 8] ^= 1 << UInt8(bit % 8)
            expectDamage(record, payload)
            payload[bit / 8] ^= 1 << UInt8(bit % 8)
        }
        expectDamage(record, Array(payload.dropLast()))
    }

    @Test func everyShorterRecordIsRefused() {
        var record: [UInt8] = []
        _ = append(Array("some payload".utf8), to: &record)
        for length in 0..<record.count {
            let cut = Array(record[..<length])
            let error = #expect(throws: CodecError.self) {
                try RecordCodec.verify(seq: 9, record: RawSpan(_elements: cut.span))
            }
            #expect(error?.code == (length < 48 ? .truncated : .damaged))
        }
    }

    @Test func aLaterFormatIsNewer() {
        var record: [UInt8] = []
        _ = append([], to: &record)
        for (offset, value) in [(4, UInt8(3)), (6, 8), (7, 0x80)] {
            var changed = record
            changed[offset] = value
            sign(&changed)
            let error = #expect(throws: CodecError.self) {
                try RecordCodec.verify(seq: 9, record: RawSpan(_elements: changed.span))
            }
            #expect(error?.code == .newer)
            #expect(error?.message.contains("event 9 was written by a newer version") == true)
        }
        var unknownKind = record
        unknownKind[5] = 200
        let error = #expect(throws: CodecError.self) {
            let header = try RecordHeader.read(RawSpan(_elements: unknownKind.span))
            _ = try EventDecoder.event(seq: 9, header: header, payload: RawSpan())
        }
        #expect(error?.code == .newer)
    }

    private func append(_ payload: [UInt8], to record: inout [UInt8]) -> RecordCodec.Placement {
        RecordCodec.append(
            seq: 9, kind: .notified, stream: StreamID(rawValue: 7), revision: 3,
            recordedAt: Timestamp(milliseconds: 1_700_000_000_123),
            occurredAt: nil, salt: Salt(11, 12), payload: RawSpan(_elements: payload.span), to: &record)
    }

    private func expectDamage(_ record: [UInt8], _ payload: [UInt8]) {
        #expect(throws: CodecError.self) {
            try RecordCodec.verify(
                seq: 9, record: RawSpan(_elements: record.span),
                chunkedPayload: RawSpan(_elements: payload.span))
        }
    }

    /// Makes the checksum right again.
    private func sign(_ record: inout [UInt8]) {
        let crc = RecordCodec.checksum(seq: 9, record: RawSpan(_elements: record.span))
        for index in 0..<4 { record[index] = UInt8(truncatingIfNeeded: crc >> UInt32(8 * index)) }
    }
}
