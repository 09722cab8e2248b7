import TraylogDomain

@testable import TraylogCodec

/// Events as bytes: what decodes is encoded to bytes that decode to the same, and both decoders agree.
enum PayloadOracle {
    static let hasher = IdentityHasher(key0: 0x0123_4567_89AB_CDEF, key1: 0x00DC_BA98_7654_3210)

    static func complaint(aboutPayload bytes: [UInt8]) -> String? {
        guard let kindNumber = bytes.first else { return nil }
        let header = RecordHeader(
            crc: 0, kindNumber: kindNumber, flags: [], stream: 1, revision: 1, recordedAt: Timestamp(milliseconds: 1),
            occurredAt: nil, salt: Salt(1, 2))
        return complaint(about: Array(bytes.dropFirst()), header)
    }

    /// The checksum is made right first, so that what it would hide is looked at, too.
    static func complaint(aboutRecord bytes: [UInt8]) -> String? {
        var bytes = bytes
        if bytes.count >= 4 {
            let crc = RecordCodec.checksum(seq: 7, record: RawSpan(_elements: bytes.span))
            for index in 0..<4 { bytes[index] = UInt8(truncatingIfNeeded: crc >> UInt32(8 * index)) }
        }
        let record = RawSpan(_elements: bytes.span)
        guard let header = try? RecordHeader.read(record, seq: 7) else { return nil }
        guard header.stream <= .highest else { return "a stream beyond the highest" }
        guard let body = try? RecordCodec.body(seq: 7, header: header, record: record) else { return nil }
        guard case .inline(let range) = body else { return nil }
        guard (try? RecordCodec.verify(seq: 7, record: record)) != nil else { return "a right checksum is refused" }
        let payload = Array(bytes[range])
        return complaint(about: payload, header) ?? complaint(aboutEncoding: payload, header, as: bytes)
    }

    /// Header and payload make the record again.
    private static func complaint(
        aboutEncoding payload: [UInt8], _ header: RecordHeader, as bytes: [UInt8]
    ) -> String? {
        guard let kind = header.kind else { return nil }
        var again: [UInt8] = []
        _ = RecordCodec.append(
            seq: 7, kind: kind, stream: header.stream, revision: header.revision, recordedAt: header.recordedAt,
            occurredAt: header.occurredAt, salt: header.salt, payload: RawSpan(_elements: payload.span), to: &again)
        return again == bytes ? nil : "the record is written in another way"
    }

    private static func complaint(about payload: [UInt8], _ header: RecordHeader) -> String? {
        _ = try? EventDecoder.names(seq: 7, payload: RawSpan(_elements: payload.span))
        let event = Result { () throws(CodecError) in try decode(payload, header) }
        let fact = Result { () throws(CodecError) in
            try EventDecoder.fact(
                seq: 7, header: header, payload: RawSpan(_elements: payload.span), hasher: hasher)
        }
        switch (event, fact) {
        case (.failure(let error), .success):
            return error.reason.hasSuffix("is not UTF-8") ? nil : "a fact without an event: \(error.reason)"
        case (.success, .failure(let error)):
            return "an event without a fact: \(error.reason)"
        case (.failure(let one), .failure(let other)):
            // Text that is not UTF-8 may be noticed before what is newer, or after.
            return one.code == other.code || one.code == .damaged ? nil : "\(one.reason) is not \(other.reason)"
        case (.success(let event), .success(let fact)):
            guard Fact(event, hasher: hasher) == fact else { return "event and fact differ" }
            return complaint(aboutEncoding: event, header)
        }
    }

    private static func complaint(aboutEncoding event: Event, _ header: RecordHeader) -> String? {
        var written: [UInt8] = []
        PayloadEncoder.append(event, to: &written)
        guard let again = try? decode(written, header) else { return "what was encoded does not decode" }
        guard again == event else { return "encoding changes the event" }
        var twice: [UInt8] = []
        PayloadEncoder.append(again, to: &twice)
        return twice == written ? nil : "the encoding is no fixpoint"
    }

    private static func decode(_ payload: [UInt8], _ header: RecordHeader) throws(CodecError) -> Event {
        try EventDecoder.event(seq: 7, header: header, payload: RawSpan(_elements: payload.span))
    }
}
