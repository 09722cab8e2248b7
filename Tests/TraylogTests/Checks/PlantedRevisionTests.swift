import Foundation
import TestSupport
import Testing
import TraylogChecks
@_spi(JSON) @_spi(Operations) @_spi(Replication) @testable import Traylog
@testable import TraylogCodec
@testable import TraylogDomain
@testable import TraylogJSON
@testable import TraylogLog
@testable import TraylogStates

/// Every reader of the log finds a gap in a stream's revisions, or a repeated one.
@Suite struct PlantedRevisionTests {
    /// What is planted in event 3, which has revision 2 of stream 1, and how it reads.
    private static let planted: [UInt32] = [1, 3, .max]

    /// Lends the path of a closed store: ann's events are 1, 3 and 5, bob's 2 and 4.
    private func withEvents(_ settings: StoreOptions = options(), _ body: (String) throws -> Void) throws {
        try withStorePath { path in
            try withStore(path, settings) { store in
                for user in ["ann", "bob", "ann", "bob", "ann"] { _ = try store.perform(notify(user)) }
            }
            try body(path)
        }
    }

    /// Lends a copy as a kill would leave it: no state is stored, so an opening reads all events.
    private func withUnstored(_ body: (String) throws -> Void) throws {
        try withStorePath { path in
            let copy = path + "-killed"
            try withStore(path) { store in
                for user in ["ann", "bob", "ann", "bob", "ann"] { _ = try store.perform(notify(user)) }
                try FileManager.default.copyItem(atPath: path, toPath: copy)
            }
            try body(copy)
        }
    }

    private func plant(_ revision: UInt32, in path: String) throws {
        try RawStore.change(path) { raw in
            try raw.change(raw.log, RawStore.key(3)) { $0.plant(revision, seq: 3) }
        }
    }

    @Test(arguments: planted)
    func verifyNamesTheEventStreamAndBothRevisionsOfAPlantedOne(revision: UInt32) throws {
        try withEvents { path in
            try plant(revision, in: path)
            let found = try findings(path)
            #expect(
                found.first
                    == "event 3 has revision \(revision) in stream 1, where 2 is expected; restore a backup", "\(found)"
            )
        }
    }

    @Test(arguments: planted)
    func anOpeningNamesTheEventStreamAndBothRevisionsOfAPlantedOne(revision: UInt32) throws {
        try withUnstored { path in
            try plant(revision, in: path)
            let found = try failure { try withStore(path) { try $0.tray(of: "ann") } }
            #expect(found?.code == .damaged)
            let message = found?.message ?? ""
            #expect(message.contains("event 3"), "\(message)")
            #expect(message.contains("revision \(revision) in stream 1, where revision 2 comes next"), "\(message)")
        }
    }

    /// The state of the user is stored, and the planted event comes after it.
    @Test(arguments: [UInt32(3), 5])
    func anOpeningComparesTheLogWithStoredStates(revision: UInt32) throws {
        try withEvents(options(tailEvents: 1)) { path in
            try RawStore.change(path) { raw in
                #expect(try raw.record.states.through > 0)
                let head = try raw.environment.read { try raw.tables.log.events.head(in: $0) }
                let batch = RecordBatch(
                    .traySeen(upTo: 5), of: "ann", stream: 1, revision: revision, after: head, at: head.recordedAt)
                try raw.environment.write { try raw.tables.log.events.append(batch, to: &$0) }
            }
            let found = try failure { try withStore(path) { _ in } }
            #expect(found?.code == .damaged)
            let message = found?.message ?? ""
            #expect(message.contains("revision \(revision) in stream 1, where revision 4 comes next"), "\(message)")
        }
    }

    @Test(arguments: planted)
    func aReaderAndAReplayFindAPlantedRevision(revision: UInt32) throws {
        try withUnstored { path in
            try plant(revision, in: path)
            let found = try failure { try withReader(path) { try $0.tray(of: "ann") } }
            #expect(found?.code == .damaged)
            #expect(try failure { try replay(path) }?.message.contains("revision 2 comes next") == true)
        }
    }

    @Test(arguments: planted)
    func aFollowerRefusesAPlantedRevision(revision: UInt32) throws {
        try withEvents { path in
            var records = try withReader(path) { try $0.records(after: 0) }
            records[2].bytes.plant(revision, seq: 3)
            let follower = try Store.temporary(options: options())
            defer { follower.close() }
            let found = try failure { try follower.apply(records, expecting: 0) }
            #expect(found?.code == .diverged)
            let message = found?.message ?? ""
            #expect(message.contains("event 3"), "\(message)")
            #expect(message.contains("revision \(revision) in stream 1, where revision 2 comes next"), "\(message)")
        }
    }

    @Test(arguments: planted)
    func aRestoreRefusesAPlantedRevision(revision: UInt32) throws {
        try withEvents { path in
            let lines = try changed(exported(path), seq: 3) { $0.revision = UInt64(revision) }
            let refusal = try refusal { try restore(lines, to: path + "-restored") }
            #expect(refusal?.field == "revision")
            #expect(refusal?.message.contains("must be 2, not \(revision)") == true, "\(String(describing: refusal))")
        }
    }

    @Test func aFollowerAndARestoreRefuseAnotherRevisionOfATopic() throws {
        try withStorePath { path in
            try withStore(path) { store in
                let broadcast = Command(user: nil, .broadcast(topic: "news", Content(title: "One")))
                _ = try store.perform([broadcast, broadcast, Command(user: "ann", .subscribe(topic: "news"))])
            }
            let events = try withReader(path) { try $0.events(from: 3, limit: 1).elements }
            #expect(events.map(\.body) == [.subscribed(topic: "news", topicRevision: 2)])
            let lines = try changed(exported(path), seq: 3) { $0.body = .subscribed(topic: "news", topicRevision: 1) }
            #expect(try refusal { try restore(lines, to: path + "-restored") }?.field == "topicRevision")

            var batch = RecordBatch(firstSeq: 3)
            var payload: [UInt8] = []
            PayloadEncoder.append(
                user: "ann", key: nil, actor: nil, device: nil, commandFingerprint: 0,
                body: .subscribed(topic: "news", topicRevision: 1), unknownFields: [], to: &payload)
            batch.append(
                payload: RawSpan(_elements: payload.span), kind: .subscribed, stream: 2, revision: 1,
                recordedAt: events[0].recordedAt, occurredAt: nil, salt: Salt(1, 2))
            var records = try withReader(path) { try $0.records(after: 0) }
            try batch.forEachWhole { _, header, payload in
                records[2].bytes.removeAll()
                records[2].bytes.append(copying: header)
                records[2].bytes.append(copying: payload)
            }
            let follower = try Store.temporary(options: options())
            defer { follower.close() }
            let found = try failure { try follower.apply(records, expecting: 0) }
            #expect(found?.code == .diverged && found?.message.contains("event 3") == true)
        }
    }

    /// The lines with one event changed, and its stored form adapted.
    private func changed(_ lines: [Line], seq: Int, _ change: (inout Event) -> Void) throws -> [Line] {
        var lines = lines
        var writer = JSONWriter()
        let line = lines[seq - 1]
        let exported = try ExportedEvent.read(line.span, writer: &writer)
        var (event, stored) = (exported.event, exported.stored)
        change(&event)
        stored.payload.removeAll()
        PayloadEncoder.append(event, to: &stored.payload)
        let header = RecordHeader(
            kind: event.kind, stream: stored.stream, revision: UInt32(clamping: event.revision),
            recordedAt: event.recordedAt, occurredAt: event.occurredAt, salt: stored.salt)
        let payload = stored.payload
        stored.checksum = RecordCodec.checksum(
            seq: UInt64(seq), header: header, payload: RawSpan(_elements: payload.span))
        var made = JSONWriter()
        made.write(event, stored: stored)
        lines[seq - 1] = made.bytes
        return lines
    }
}

extension [UInt8] {
    /// Gives a whole record another revision, under a checksum that is right.
    fileprivate mutating func plant(_ revision: UInt32, seq: UInt64) {
        for index in 0..<4 { self[12 + index] = UInt8(truncatingIfNeeded: revision >> (8 * UInt32(index))) }
        let checksum = RecordCodec.checksum(seq: seq, record: RawSpan(_elements: span))
        for index in 0..<4 { self[index] = UInt8(truncatingIfNeeded: checksum >> (8 * UInt32(index))) }
    }
}
