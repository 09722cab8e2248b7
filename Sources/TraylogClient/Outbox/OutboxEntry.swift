import TraylogDomain
import TraylogJSON

/// One action of the device's user, on its way to the server.
public struct OutboxEntry: Hashable, Sendable, Identifiable, Codable {
    /// The state of an entry.
    public enum State: String, Hashable, Sendable, Codable {
        /// Waits for its turn, or for a connection.
        case queued
        /// Its attachment is being uploaded; ``OutboxEntry/fraction`` says how far.
        case uploading
        /// Sent, or about to be sent again; the answer is awaited.
        case syncing
        /// The server has it. It leaves the list when the log is compacted.
        case synced
        /// It is not sent again by itself: ``Outbox/resend(_:)`` or ``Outbox/discard(_:)``.
        case failed
    }

    /// The idempotency key, made on the device: an entry that is sent again is stored once.
    public var id: String
    /// The lane that it belongs to.
    ///
    /// Entries of one lane arrive in order.
    public var lane: String
    /// The state.
    public var state: State
    /// The bytes that the transport sends.
    public var payload: [UInt8]
    /// By the device's clock; a resend does not change it.
    public var createdAt: Timestamp
    /// Its attached file.
    public var attachment: Attachment?
    /// How often it was sent since it was queued or resent; not counting while there was no connection.
    public var attempts: Int
    /// Whether it left the device, and no answer says that the server does not have it.
    public var mayHaveArrived = false
    /// How much of the attachment is uploaded, 0…1, while it is.
    public var fraction: Double?
    /// The reason why it failed, or waits to be sent again.
    public var problem: Problem?
    /// The result of the transport's `send`.
    public var receipt: [UInt8]?

    /// A file that is uploaded before its entry is sent.
    public struct Attachment: Hashable, Sendable, Codable {
        /// The last part of the original path.
        public var name: String
        /// The size of the file.
        public var byteCount: Int
        /// In hex.
        public var sha256: String
        /// The result of the transport's `upload`; nil before.
        public var location: String?
    }

    /// The reason why an entry failed or waits.
    public struct Problem: Hashable, Sendable, Codable {
        /// A word for programs: `timeout`, `server`, or the name of a refusal.
        public var code: String
        /// For a person: what happened, and what to do next.
        public var message: String
        /// Whether the server may have stored it nonetheless.
        ///
        /// Sent again under its key, it is stored once.
        public var isOutcomeUnknown: Bool

        /// Why an entry failed; `isOutcomeUnknown` when the server may have stored it.
        public init(code: String, message: String, isOutcomeUnknown: Bool = false) {
            self.code = code
            self.message = message
            self.isOutcomeUnknown = isOutcomeUnknown
        }
    }

    /// Whether it is on its way: queued, uploading or syncing.
    public var isPending: Bool { state == .queued || isUnderWay }
    /// Whether it is being sent.
    public var isUnderWay: Bool { state == .uploading || state == .syncing }
    /// Whether nothing more happens to it.
    public var isOver: Bool { state == .synced }

    /// A new entry, queued.
    init(id: String, lane: String, payload: [UInt8], createdAt: Timestamp, attachment: Attachment? = nil) {
        (self.id, self.lane, self.payload, self.createdAt) = (id, lane, payload, createdAt)
        self.attachment = attachment
        state = .queued
        attempts = 0
    }
}

/// The end of an entry, for now: a failed one can be resent.
public enum OutboxOutcome: Hashable, Sendable, Codable {
    /// It arrived; the transport's receipt.
    case synced(receipt: [UInt8])
    /// It was given up until it is resent.
    case failed(OutboxEntry.Problem)
    /// Discarded, or over so long that it is not listed any more.
    case over
    /// Not at its end: the task that waited for it was cancelled, and the entry goes on.
    case pending
}

/// The reason why the outbox refuses a call.
///
/// Nothing is lost or changed.
public enum OutboxRefusal: Error, Hashable, Sendable {
    /// ``OutboxOptions/entryLimit`` is reached: discard failed entries, or wait until some are sent.
    case outboxFull(limit: Int)
    /// ``OutboxOptions/attachmentByteLimit`` would be passed.
    case attachmentsFull(limit: Int)
    /// The file cannot be read.
    case unreadableAttachment(String)
    /// There is no such entry, or it is over.
    case unknownEntry(String)
    /// The entry has not failed, so that it cannot be resent.
    case notFailed(String)
    /// An entry with this id is there already.
    case repeatedID(String)
    /// The outbox was closed, or the user logged out.
    case closed
    /// The storage failed; nothing was stored.
    case storage(DeviceFailure)

    /// The name that JSON carries as `error`.
    public var name: String {
        switch self {
        case .outboxFull: "outboxFull"
        case .attachmentsFull: "attachmentsFull"
        case .unreadableAttachment: "unreadableAttachment"
        case .unknownEntry: "unknownEntry"
        case .notFailed: "notFailed"
        case .repeatedID: "repeatedID"
        case .closed: "closed"
        case .storage(let failure): failure.code.rawValue
        }
    }
}

extension OutboxRefusal: CustomStringConvertible {
    /// For a person: the refusal, and the next step.
    public var description: String {
        switch self {
        case .outboxFull(let limit):
            "The outbox has \(limit) entries, its limit: discard failed ones, or wait until some are sent."
        case .attachmentsFull(let limit):
            "Attachments may take \(limit) bytes on this device: wait until some are sent, or discard failed entries."
        case .unreadableAttachment(let reason): "The attachment cannot be read: \(reason)"
        case .unknownEntry(let id): "There is no entry \(id), or it is over."
        case .notFailed(let id): "The entry \(id) has not failed: only failed entries are resent."
        case .repeatedID(let id): "An entry \(id) is in the outbox already."
        case .closed: "The outbox was closed: open it again."
        case .storage(let failure): failure.description
        }
    }
}
