import Foundation
import Testing
import TraylogDomain

@testable import TraylogCodec

/// Stores of every released format must stay readable, so their records are kept as files.
///
/// A fixture has lines `seq`, `record` and, when chunked, `payload`, in hexadecimal. To make fixtures for new
/// events, run the tests with `TRAYLOG_WRITE_FIXTURES=1`; files that are there are never replaced.
@Suite struct GoldenTests {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "Fixtures/format-2")
    static let salt = Salt(0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908)

    @Test(arguments: GoldenEvents.all.map(\.name))
    func formatTwoReadsAndWritesAsItDid(name: String) throws {
        let event = try #require(GoldenEvents.all.first { $0.name == name }).event
        let (record, payload) = encodeRecord(event)
        let file = Self.folder.appending(path: "\(name).hex")
        try writeIfAsked(file, event, record, payload)
        let fixture = try Self.lines(of: file)
        #expect(fixture["seq"] == "\(event.seq)")
        let stored = bytes(hex: try #require(fixture["record"]))
        #expect(stored == record)
        let span = RawSpan(_elements: stored.span)
        let header = try RecordHeader.read(span)
        #expect(header.kind == event.kind && header.stream == Self.stream(of: event) && header.salt == Self.salt)
        switch try RecordCodec.body(seq: event.seq.rawValue, header: header, record: span) {
        case .inline(let range):
            try RecordCodec.verify(seq: event.seq.rawValue, record: span)
            let decoded = try EventDecoder.event(
                seq: event.seq, header: header, payload: span.extracting(range))
            #expect(decoded == event && encode(decoded) == encode(event))
        case .chunked(let byteCount):
            let chunked = bytes(hex: try #require(fixture["payload"]))
            #expect(chunked.count == byteCount && chunked == payload)
            let chunks = RawSpan(_elements: chunked.span)
            try RecordCodec.verify(seq: event.seq.rawValue, record: span, chunkedPayload: chunks)
            #expect(try EventDecoder.event(seq: event.seq, header: header, payload: chunks) == event)
        case .erased:
            Issue.record("no golden event is erased")
        }
    }

    @Test func everyKindHasAFixture() {
        #expect(Set(GoldenEvents.all.map(\.event.kind)) == Set(EventKind.allCases))
    }

    /// What `notified` leaves when its payload is erased; the digest is SHA-256(salt ‖ payload).
    @Test func anErasedRecordReadsAsItDid() throws {
        let fixture = try Self.lines(of: Self.folder.appending(path: "notified-erased.hex"))
        let stored = bytes(hex: try #require(fixture["record"]))
        let span = RawSpan(_elements: stored.span)
        try RecordCodec.verify(seq: 1, record: span)
        let header = try RecordHeader.read(span)
        #expect(
            try RecordCodec.body(seq: 1, header: header, record: span) == .erased(digest: 48..<80))
        var again: [UInt8] = []
        RecordCodec.appendErased(
            seq: 1, header: header, digest: span.extracting(48..<80), to: &again)
        #expect(again == stored)
    }

    static func lines(of file: URL) throws -> [String: String] {
        let text = try String(contentsOf: file, encoding: .utf8)
        let pairs = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { $0.split(separator: " ") }
        return Dictionary(uniqueKeysWithValues: pairs.map { (String($0[0]), String($0[1])) })
    }

    private static func stream(of event: Event) -> StreamID { event.revision == 0 ? .absent : StreamID(rawValue: 7) }

    private func encodeRecord(_ event: Event) -> (record: [UInt8], payload: [UInt8]) {
        let payload = encode(event)
        var record: [UInt8] = []
        _ = RecordCodec.append(
            seq: event.seq.rawValue, kind: event.kind, stream: Self.stream(of: event),
            revision: UInt32(clamping: event.revision), recordedAt: event.recordedAt, occurredAt: event.occurredAt,
            salt: Self.salt, payload: RawSpan(_elements: payload.span),
            to: &record)
        return (record, payload)
    }

    private func writeIfAsked(_ file: URL, _ event: Event, _ record: [UInt8], _ payload: [UInt8]) throws {
        guard ProcessInfo.processInfo.environment["TRAYLOG_WRITE_FIXTURES"] != nil,
            !FileManager.default.fileExists(atPath: file.path)
        else { return }
        let isChunked = record.count == 52 && payload.count > RecordCodec.inlinePayloadBytes
        try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
        let lines =
            ["# A record of format 2; Docs/internals/format.md.", "seq \(event.seq)", "record \(hex(record))"]
            + (isChunked ? ["payload \(hex(payload))"] : [])
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
    }
}
