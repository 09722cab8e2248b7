import Traylog
import TraylogAudit

/// The place of a message in a replicated log: 1, 2, 3 … without a gap.
///
/// 0 is before the first one.
public struct LogPosition: RawRepresentable, Comparable, Hashable, Sendable, Codable {
    /// The number that the log gave it.
    public var rawValue: UInt64

    /// Makes a place from its number.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Before the first message.
    public static let start = LogPosition(rawValue: 0)
    /// The highest number that a log of record may name, so that sums do not overflow.
    public static let highest: UInt64 = (1 << 56) - 1
    /// The place right behind this one; the highest number has none, and stays.
    public var next: LogPosition { LogPosition(rawValue: min(rawValue, .max - 1) + 1) }

    /// Whether the left one comes first.
    public static func < (left: LogPosition, right: LogPosition) -> Bool { left.rawValue < right.rawValue }
}

extension LogPosition: CustomStringConvertible {
    /// The text for a person.
    public var description: String { "\(rawValue)" }
}

/// A message of a replicated log: one group of events (``EventGroup``).
public struct LogMessage: Hashable, Sendable {
    /// Its place, which the log gave it.
    public var position: LogPosition
    /// Identifies the group: no other group has this id, and each attempt to publish the group repeats it.
    public var id: String
    /// The root of the tree over all events before the group.
    public var root: MerkleHash
    /// The group's bytes.
    public var body: [UInt8]

    /// A message as the log delivers it; `id` is the one it was published with.
    public init(position: LogPosition, id: String, root: MerkleHash, body: [UInt8]) {
        self.position = position
        self.id = id
        self.root = root
        self.body = body
    }
}

/// The log's answer to a message.
public enum PublishOutcome: Hashable, Sendable {
    /// It stands there, on a majority of the log's disks. A duplicate was there before this call.
    case accepted(at: LogPosition, isDuplicate: Bool)
    /// It was not stored: another message stands at the place that was expected to be free.
    case wrongPosition(last: LogPosition)
    /// It was not stored, for a reason that has nothing to do with its place, such as a full disk.
    case rejected(reason: String)
    /// Nobody knows: no answer came in time. It may be stored, now or later.
    case unknown(reason: String)
}

/// The first and the last message that a log holds.
public struct LogBounds: Hashable, Sendable, Codable {
    /// The first message that was not trimmed; the one after ``last`` where there is none.
    public var first: LogPosition
    /// The newest message; ``LogPosition/start`` in a new log.
    public var last: LogPosition

    /// The positions that the log still holds, both included.
    public init(first: LogPosition, last: LogPosition) {
        self.first = first
        self.last = last
    }
}

/// No answer came from the log of record; the message says from where, and why.
public struct LogUnreachable: Error, Hashable, Sendable, CustomStringConvertible {
    /// The place and the cause.
    public var description: String

    /// Makes one with its message.
    public init(_ description: String) {
        self.description = description
    }
}

/// A log on several machines that gives every message one place, even if several nodes publish at once: the log of record
/// of a cluster.
///
/// A ``ClusterNode`` rests on three promises. A message that was accepted stays where it is, unless an operator trims the
/// log. Of two messages that expect the same last position at most one is accepted. A message with the id of a recent
/// one is not stored again. Everything else may go wrong: answers may be lost, late or doubled.
public protocol ReplicatedLog: Sendable {
    /// The log's name, of 1 to 256 bytes without control characters. It is stored with the positions in it.
    var name: String { get }
    /// The largest body that it takes, in bytes; at least ``EventGroup/smallestLimit``.
    var largestBody: Int { get }

    /// Publishes a message at the place after `last`, if that is the end of the log.
    ///
    /// It returns within some seconds; when nobody answered, with ``PublishOutcome/unknown(reason:)``.
    func publish(id: String, root: MerkleHash, body: [UInt8], expecting last: LogPosition) async -> PublishOutcome

    /// The message at a place, as a majority has it; nil if there is none, or no longer one.
    func message(at position: LogPosition) async throws(LogUnreachable) -> LogMessage?

    /// Messages after a place, in order and without a gap.
    ///
    /// - Parameters:
    ///   - limit: the greatest number of messages; some megabytes at most.
    ///   - wait: the longest wait for the first one.
    ///   - Returns: none at the end of the log. If the first one was trimmed, the remaining ones.
    func messages(
        after position: LogPosition, limit: Int, wait: Duration
    ) async throws(LogUnreachable) -> [LogMessage]

    /// The first and the last message, as a majority has them.
    func bounds() async throws(LogUnreachable) -> LogBounds
}
