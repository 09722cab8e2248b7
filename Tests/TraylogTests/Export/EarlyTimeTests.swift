import TestSupport
import Testing
import TraylogChecks
@_spi(JSON) import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogStates

@_spi(Operations) @testable import Traylog
@testable import TraylogJSON

/// Times outside of the years 0000 to 9999, which no command can set, in bytes of somebody else.
struct EarlyTimeTests {
    private static let times = [Int64.min, .max, -62_167_219_200_001, 253_402_300_800_000].map(
        Timestamp.init(milliseconds:))

    private func bodies(_ time: Timestamp) -> [(field: String, body: Event.Body)] {
        var edit = ContentEdit()
        edit.expiresAt = .set(time)
        return [
            ("expiresAt", .notified(Content(title: "T", expiresAt: time))),
            ("remindAt", .notified(Content(title: "T", remindAt: time))), ("until", .muted(.all, until: time)),
            ("expiresAt", .broadcast(topic: "t", Content(title: "T", expiresAt: time))),
        ]
    }

    private func line(_ event: Event, _ batch: inout RecordBatch) throws -> [UInt8] {
        var payload: [UInt8] = []
        PayloadEncoder.append(event, to: &payload)
        let salt = Salt(1, 2)
        batch.append(
            payload: RawSpan(_elements: payload.span), kind: event.kind, stream: 1, revision: 1,
            recordedAt: event.recordedAt,
            occurredAt: event.occurredAt, salt: salt)
        let stored = StoredForm(
            stream: 1, salt: salt, payload: payload, checksum: try batch.header(1)?.crc ?? 0, last: 1)
        var writer = JSONWriter()
        writer.write(event, stored: stored)
        return writer.bytes
    }

    private func event(_ body: Event.Body) -> Event {
        var isBroadcast = false
        if case .broadcast = body { isBroadcast = true }
        return Event(
            seq: 1, recordedAt: Timestamp(milliseconds: 1_795_000_000_000), revision: 1,
            user: isBroadcast ? nil : "ann", body: body)
    }

    @Test func anExportWithSuchATimeIsRefusedByName() throws {
        for time in Self.times {
            for (field, body) in bodies(time) {
                try withTemporaryDirectory { directory in
                    var batch = RecordBatch(firstSeq: 1)
                    let line = try line(event(body), &batch)
                    let restore = try LogRestore(directory: directory + "/store")
                    let error = #expect(throws: TraylogError.self) { try restore.add(line.span) }
                    #expect(
                        error?.description.contains("`\(field)` lies outside of the years") == true,
                        "\(field): \(error as Any)")
                }
            }
        }
    }

    @Test func aStoreThatHasOneOpensAndNamesTheDamage() throws {
        for time in Self.times {
            for (field, body) in bodies(time) {
                try withTemporaryDirectory { directory in
                    let path = directory + "/store"
                    let options = StoreOptions()
                    let store = try Store.open(path, options: options).blocking
                    _ = try store.perform(Command(user: "ann", .notify(Content(title: "Before"))))
                    store.close()
                    var batch = RecordBatch(firstSeq: 2)
                    var payload: [UInt8] = []
                    PayloadEncoder.append(event(body), to: &payload)
                    batch.append(
                        payload: RawSpan(_elements: payload.span), kind: body.kind, stream: 2, revision: 1,
                        recordedAt: .now, occurredAt: nil, salt: Salt(1, 2))
                    let environment = try Environment.open(
                        directory: path, access: .readWrite, databases: Tables.allNames)
                    try environment.write { try EventLog(environment).append(batch, to: &$0) }
                    environment.close()
                    let report = try Verification.run(directory: path) { _, _ in }
                    #expect(
                        report.findings.contains { $0.contains("event 2") && $0.contains("`\(field)`") },
                        "\(report.findings)")
                    let reader = try StoreReader.open(path).blocking
                    defer { reader.close() }
                    #expect(try reader.head() == 2)
                    let error = #expect(throws: TraylogError.self) { try reader.events(from: 2, limit: 1) }
                    #expect(error?.description.contains("event 2 is damaged") == true, "\(error as Any)")
                }
            }
        }
    }

    @Test func aHeaderWithSuchATimeIsDamage() throws {
        for time in Self.times where time.milliseconds != .min {
            for (recorded, occurred) in [(time, nil), (Timestamp(milliseconds: 0), time)] as [(Timestamp, Timestamp?)] {
                var bytes: [UInt8] = []
                _ = RecordCodec.append(
                    seq: 1, kind: .held, stream: 1, revision: 1, recordedAt: recorded, occurredAt: occurred,
                    salt: Salt(1, 2),
                    payload: RawSpan(), to: &bytes)
                let error = #expect(throws: CodecError.self) {
                    try RecordHeader.read(RawSpan(_elements: bytes.span), seq: 1)
                }
                #expect(error?.reason.contains(occurred == nil ? "`recordedAt`" : "`occurredAt`") == true)
            }
        }
    }
}
