import TraylogDomain

@testable import TraylogCodec

/// The codec on arrays, as the tests need it.
func encode(_ event: Event) -> [UInt8] {
    var buffer: [UInt8] = []
    PayloadEncoder.append(event, to: &buffer)
    return buffer
}

func header(_ kind: EventKind, of event: Event? = nil) -> RecordHeader {
    RecordHeader(
        crc: 0, kindNumber: kind.code, flags: [], stream: StreamID(rawValue: 1),
        revision: UInt32(clamping: event?.revision ?? 1),
        recordedAt: event?.recordedAt ?? Timestamp(milliseconds: 0), occurredAt: event?.occurredAt,
        salt: Salt(1, 2))
}

func decode(_ payload: [UInt8], like event: Event) throws(CodecError) -> Event {
    try EventDecoder.event(
        seq: event.seq, header: header(event.kind, of: event), payload: RawSpan(_elements: payload.span))
}

func decode(_ payload: [UInt8], _ kind: EventKind) throws(CodecError) -> Event {
    try EventDecoder.event(seq: 1, header: header(kind), payload: RawSpan(_elements: payload.span))
}

func fact(_ payload: [UInt8], like event: Event) throws(CodecError) -> Fact {
    try EventDecoder.fact(
        seq: event.seq.rawValue, header: header(event.kind, of: event), payload: RawSpan(_elements: payload.span),
        hasher: testHasher)
}

func fact(_ payload: [UInt8], _ kind: EventKind) throws(CodecError) -> Fact {
    try EventDecoder.fact(
        seq: 1, header: header(kind), payload: RawSpan(_elements: payload.span), hasher: testHasher)
}

let testHasher = IdentityHasher(key0: 0x0123_4567_89AB_CDEF, key1: 0x00DC_BA98_7654_3210)

func hex(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { (String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)) }.joined()
}

func bytes(hex text: some StringProtocol) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}
