import TraylogDomain
import TraylogJSON

/// A fact about the outbox.
///
/// Its state is a fold of these.
enum OutboxEvent: Hashable, Sendable {
    /// Stored before anybody is told that it is.
    case queued(OutboxEntry)
    /// Stored before anything leaves the device.
    case attempted(id: String, attempts: Int)
    case uploaded(id: String, location: String)
    case synced(id: String, receipt: [UInt8])
    case failed(id: String, attempts: Int, OutboxEntry.Problem)
    /// Back in the queue: at the place it had, or at its lane's end.
    case requeued(id: String, attempts: Int, isResent: Bool, mayHaveArrived: Bool)
    case discarded([String])
    /// The process ended while these were under way.
    case restarted(failed: [String], requeued: [String])
}

extension OutboxEvent {
    /// One JSON object.
    var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        switch self {
        case .queued(let entry):
            writer.member("kind", "queued")
            writer.member("id", entry.id)
            writer.member("lane", entry.lane)
            writer.member("createdAt", entry.createdAt)
            writer.name("payload")
            writer.value(base64: entry.payload.span)
            if let attachment = entry.attachment {
                writer.member("name", attachment.name)
                writer.member("bytes", attachment.byteCount)
                writer.member("sha256", attachment.sha256)
            }
        case .attempted(let id, let attempts):
            writer.member("kind", "attempted")
            writer.member("id", id)
            writer.member("attempts", attempts)
        case .uploaded(let id, let location):
            writer.member("kind", "uploaded")
            writer.member("id", id)
            writer.member("location", location)
        case .synced(let id, let receipt):
            writer.member("kind", "synced")
            writer.member("id", id)
            writer.name("receipt")
            writer.value(base64: receipt.span)
        case .failed(let id, let attempts, let problem):
            writer.member("kind", "failed")
            writer.member("id", id)
            writer.member("attempts", attempts)
            writer.member("error", problem.code)
            writer.member("message", problem.message)
            writer.member("unknown", problem.isOutcomeUnknown)
        case .requeued(let id, let attempts, let isResent, let mayHaveArrived):
            writer.member("kind", "requeued")
            writer.member("id", id)
            writer.member("attempts", attempts)
            writer.member("resent", isResent)
            writer.member("arrived", mayHaveArrived)
        case .discarded(let ids):
            writer.member("kind", "discarded")
            writer.member("ids", each: ids) { $0.value($1) }
        case .restarted(let failed, let requeued):
            writer.member("kind", "restarted")
            writer.member("failed", each: failed) { $0.value($1) }
            writer.member("requeued", each: requeued) { $0.value($1) }
        }
        writer.endObject()
        return writer.bytes
    }

    init(_ bytes: [UInt8]) throws {
        let fields = try WireObject(bytes)
        switch try fields.string("kind") {
        case "queued":
            var entry = OutboxEntry(
                id: try fields.string("id"), lane: try fields.string("lane"), payload: try fields.base64("payload"),
                createdAt: try fields.time("createdAt"))
            if let name = try fields.string(maybe: "name") {
                entry.attachment = OutboxEntry.Attachment(
                    name: name, byteCount: try fields.count("bytes", atMost: 1 << 40),
                    sha256: try fields.string("sha256"))
            }
            self = .queued(entry)
        case "attempted":
            self = .attempted(
                id: try fields.string("id"), attempts: try fields.count("attempts", atMost: 1_000_000_000))
        case "uploaded": self = .uploaded(id: try fields.string("id"), location: try fields.string("location"))
        case "synced": self = .synced(id: try fields.string("id"), receipt: try fields.base64("receipt"))
        case "failed":
            self = .failed(
                id: try fields.string("id"), attempts: try fields.count("attempts", atMost: 1_000_000_000),
                OutboxEntry.Problem(
                    code: try fields.string("error"), message: try fields.string("message"),
                    isOutcomeUnknown: try fields.boolean("unknown")))
        case "requeued":
            self = .requeued(
                id: try fields.string("id"), attempts: try fields.count("attempts", atMost: 1_000_000_000),
                isResent: try fields.boolean("resent"), mayHaveArrived: try fields.boolean("arrived"))
        case "discarded": self = .discarded(try fields.strings("ids"))
        case "restarted":
            self = .restarted(failed: try fields.strings("failed"), requeued: try fields.strings("requeued"))
        case let kind: throw WireFault("the outbox has no event \(Refusal.excerpt(kind))")
        }
    }
}
