import TraylogDomain
@_spi(Replication) import TraylogReplica

@testable import TraylogClient
@testable import TraylogJSON

/// Reads bytes as a device reads what its server sends and what its disk holds.
enum DeviceOracle {
    static func complaint(aboutEvent bytes: [UInt8]) -> String? {
        guard let event = try? Event(wire: WireObject(bytes)) else { return nil }
        do {
            // Line ends in `data` become spaces when it is written, so events are compared as they are written.
            return try Event(wire: WireObject(Array(event.json.utf8))).json == event.json
                ? nil : "written again it is another event"
        } catch {
            return "written again it is refused: \(error)"
        }
    }

    static func complaint(aboutSnapshot bytes: [UInt8]) -> String? {
        guard let page = try? SnapshotPage(bytes),
            let replica = try? TrayReplica([page.snapshot], hasher: IdentityHasher(key0: 1, key1: 2))
        else { return nil }
        _ = try? replica.tray()
        _ = try? replica.inbox(InboxQuery(ItemFilter(includeSilent: true), limit: 100))
        _ = try? replica.threads()
        _ = replica.packed()
        return nil
    }

    /// However the bytes are cut, the messages are the same.
    static func complaint(aboutStream bytes: [UInt8]) -> String? {
        var (whole, cut) = (EventStream(), EventStream())
        let messages = try? whole.take(bytes)
        var parts: [EventStream.Message] = []
        for byte in bytes {
            guard let some = try? cut.take([byte]) else { return messages == nil ? nil : "cut it is refused" }
            parts += some
        }
        return messages == parts ? nil : "cut it has other messages"
    }

    static func complaint(aboutOutboxEvent bytes: [UInt8]) -> String? {
        guard let event = try? OutboxEvent(bytes) else { return nil }
        var state = OutboxState()
        state.apply(event, row: 1)
        state.apply(event, row: 2)
        guard let again = try? OutboxEvent(event.bytes) else { return "written again it is refused" }
        return again.bytes == event.bytes ? nil : "written again it is another event"
    }

    static func complaint(aboutMeta bytes: [UInt8]) -> String? {
        guard let meta = try? ReplicaMeta(bytes) else { return nil }
        return (try? ReplicaMeta(meta.bytes)) == meta ? nil : "written again it says something else"
    }

    /// Valid texts, from which fuzzing starts.
    static func seeds(_ events: [Event]) -> [FuzzTarget: [[UInt8]]] {
        let lines = events.prefix(300).map { Array($0.json.utf8) }
        var entry = OutboxEntry(id: "a1", lane: "media", payload: [1, 2, 3], createdAt: Timestamp(milliseconds: 9))
        entry.attachment = OutboxEntry.Attachment(name: "p.jpg", byteCount: 9, sha256: "00")
        let problem = OutboxEntry.Problem(code: "server", message: "busy", isOutcomeUnknown: true)
        let outbox: [OutboxEvent] = [
            .queued(entry), .attempted(id: "a1", attempts: 2), .uploaded(id: "a1", location: "http://x"),
            .synced(id: "a1", receipt: [7]), .failed(id: "a1", attempts: 3, problem),
            .requeued(id: "a1", attempts: 0, isResent: true, mayHaveArrived: true), .discarded(["a1", "b"]),
            .restarted(failed: ["a1"], requeued: ["b"]),
        ]
        let meta = ReplicaMeta(
            user: "ann", store: "s", offset: "s_1_00000000000000000009", through: 9, secret: [1, 2],
            arrivedThrough: 4, presented: [3, 4])
        let item = Item(
            seq: 3, position: 3, key: "k", content: Content(thread: "t", title: "T"),
            recordedAt: Timestamp(milliseconds: 9))
        let tray = Tray(user: "ann", asOf: 9)
        let head =
            #"{"store":"s","stream":1,"asOf":9,"offset":"s_1_00000000000000000009","floor":0,"tray":\#(tray.json),"#
            + #""mutedThreads":["m"],"mutedCategories":[],"mutes":[{"thread":"m","since":"2026-01-01T00:00:00.000Z"}],"#
            + #""topics":[{"topic":"n","from":1,"until":2}],"voided":[5]}"#
        let snapshot = "\(head)\n\(item.json.dropLast()),\"hasContent\":true}\n{\"next\":null}\n"
        return [
            .wireEvent: lines, .wireSnapshot: [Array(snapshot.utf8)],
            .eventStream: [
                Array("event: data\r\ndata: [1]\n\n: ping\n\ndata: a\ndata: b\n\nid: 4\n\n".utf8)
            ],
            .outboxEvent: outbox.map(\.bytes), .replicaMeta: [meta.bytes],
        ]
    }
}
