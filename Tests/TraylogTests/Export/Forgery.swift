import TestSupport
import TraylogChecks
import TraylogDomain
import TraylogLog

@testable import Traylog
@testable import TraylogJSON

/// An export whose events are changed, and whose lines are then made right again.
struct Forgery {
    private var events: [ExportedEvent]

    init(_ lines: [Line]) throws {
        var writer = JSONWriter()
        events = []
        for line in lines { events.append(try ExportedEvent.read(line.span, writer: &writer)) }
    }

    mutating func change(_ random: inout SeededRandom) {
        let index = random.below(events.count)
        var event = events[index].event
        let other = random.pick(events).event
        func earlier(_: Seq) -> Seq { Seq(UInt64(random.below(index + 1))) }
        switch random.below(6) {
        case 0 where (event.user == nil) == (other.user == nil): event.body = other.body.naming(earlier)
        case 1, 2: event.body = event.body.naming(earlier)
        case 3 where event.user != nil: event.user = other.user
        case 4: event.body = other.body
        default: (event.recordedAt, event.key) = (events[max(index, 1) - 1].event.recordedAt, other.key)
        }
        events[index] = ExportedEvent(event: event, stored: events[index].stored)
    }

    /// With payloads and checksums that fit, and streams by first appearance.
    func lines() throws -> [Line] {
        var streams: [[UInt8]: StreamID] = [:]
        var streamOf: [StreamID] = [.absent]
        var revisions: [StreamID: UInt64] = [:]
        var batch = RecordBatch(firstSeq: 1)
        var all: [Line] = []
        for exported in events {
            var event = exported.event
            var stored = exported.stored
            stored.payload = []
            PayloadEncoder.append(
                user: event.user, key: event.key, actor: event.actor, device: event.device,
                commandFingerprint: event.commandFingerprint, body: event.body, unknownFields: event.unknownFields,
                to: &stored.payload)
            if let name = event.streamName {
                stored.stream = streams[name] ?? StreamID(rawValue: UInt32(streams.count + 1))
                streams[name] = stored.stream
            } else {
                stored.stream = streamOf[min(Int(event.body.greatestNamed.rawValue), streamOf.count - 1)]
            }
            streamOf.append(stored.stream)
            revisions[stored.stream, default: 0] += 1
            event.revision = stored.stream == .absent ? 0 : revisions[stored.stream] ?? 0
            batch.append(
                payload: RawSpan(_elements: stored.payload.span), kind: event.kind, stream: stored.stream,
                revision: UInt32(clamping: event.revision),
                recordedAt: event.recordedAt, occurredAt: event.occurredAt, salt: stored.salt)
            stored.checksum = try batch.header(event.seq.rawValue)?.crc ?? 0
            var writer = JSONWriter()
            writer.write(event, stored: stored)
            all.append(writer.bytes)
        }
        return all
    }
}

extension Event {
    /// Bytes that tell streams apart; nil for what happens to a broadcast.
    fileprivate var streamName: [UInt8]? {
        if let user { return Array("user \(user)".utf8) }
        guard case .broadcast(let topic, _) = body else { return nil }
        return Array("topic \(topic)".utf8)
    }
}

extension Event.Body {
    /// The same with other seqs for the events that it names.
    fileprivate func naming(_ seq: (Seq) -> Seq) -> Event.Body {
        switch self {
        case .traySeen(let upTo): .traySeen(upTo: seq(upTo))
        case .marked(let mark, let items): .marked(mark, items: (items + items).map(seq))
        case .allMarked(let mark, let filter, let upTo): .allMarked(mark, filter, upTo: seq(upTo))
        case .snoozed(let item, let until): .snoozed(item: seq(item), until: until)
        case .woken(let item): .woken(item: seq(item))
        case .edited(let item, let edit): .edited(item: seq(item), edit)
        case .retracted(let item): .retracted(item: seq(item))
        case .undone(let event): .undone(event: seq(event))
        case .expired(let item): .expired(item: seq(item))
        case .acted(let item, let action, let note, let asOf):
            .acted(item: seq(item), action: action, note: note, asOf: seq(asOf))
        case .reminded(let item): .reminded(item: seq(item))
        case .arrived(let item, let topic, let key, let notifiedAt, let content):
            .arrived(item: seq(item), topic: topic, key: key, notifiedAt: notifiedAt, content)
        case .notified, .muted, .unmuted, .subscribed, .unsubscribed, .broadcast, .erased, .redacted, .compacted,
            .held, .released, .lost, .audited:
            self
        }
    }
}
