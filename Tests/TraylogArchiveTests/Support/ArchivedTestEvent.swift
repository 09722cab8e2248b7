import TestSupport
import TraylogDomain
import TraylogLog

/// An event as the log has it.
struct ArchivedTestEvent: Hashable {
    var seq: UInt64
    var record: [UInt8]
    /// Empty when it is in the record.
    var payload: [UInt8] = []

    init(seq: UInt64, stream: StreamID = 1, payload: [UInt8], random: inout SeededRandom) {
        self.seq = seq
        var record: [UInt8] = []
        let placement = RecordCodec.append(
            seq: seq, kind: .notified, stream: stream, revision: UInt32(seq),
            recordedAt: Timestamp(milliseconds: Int64(seq) * 1_000), occurredAt: nil,
            salt: Salt(random.next(), random.next()), payload: RawSpan(_elements: payload.span),
            to: &record)
        self.record = record
        if placement != .inline { self.payload = payload }
    }

    /// The same without its payload.
    func erased() throws -> ArchivedTestEvent {
        var erased = self
        let header = try RecordHeader.read(RawSpan(_elements: record.span))
        let digest = [UInt8](repeating: 0xD1, count: RecordCodec.digestBytes)
        erased.record = []
        RecordCodec.appendErased(
            seq: seq, header: header, digest: RawSpan(_elements: digest.span), to: &erased.record)
        erased.payload = []
        return erased
    }
}

extension SeededRandom {
    /// Events with gaps between them, of all sizes: no payload at all, in the record, in chunks.
    mutating func archivedEvents(_ count: Int, from first: UInt64 = 1, largest: Int = 70_000) -> [ArchivedTestEvent] {
        var seq = first - 1
        return (0..<count).map { _ in
            seq += UInt64(chance(80) ? 1 : between(1, 1_000))
            let size = pick(weighted: [
                (0, 5), (between(1, 200), 80), (between(200, 1_952), 10), (1_952, 1), (1_953, 1),
                (between(1_953, largest), 3),
            ])
            return ArchivedTestEvent(
                seq: seq, stream: stream(1, 9), payload: archivedPayload(size), random: &self)
        }
    }

    /// Most of it compresses well.
    private mutating func archivedPayload(_ size: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0x61, count: size)
        for index in stride(from: 0, to: size, by: 16) { bytes[index] = UInt8(truncatingIfNeeded: next()) }
        return bytes
    }
}
