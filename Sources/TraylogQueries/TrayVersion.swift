import TraylogDomain
import TraylogJSON

/// Names the content of a user's tray: two answers with equal versions differ in nothing but `asOf`.
public struct TrayVersion: Hashable, Sendable, Codable, CustomStringConvertible {
    /// As in ``Changes/stream``.
    public var stream: UInt32
    /// The newest event that ``TrayQueries/changes(of:after:limit:)`` shows; 0 without any.
    public var newestChange: Seq

    package init(stream: UInt32, newestChange: Seq) { (self.stream, self.newestChange) = (stream, newestChange) }

    /// The text for a person.
    public var description: String { "\(stream)-\(newestChange)" }
}
