@_spi(Replication) import TraylogDomain
import TraylogJSON

/// Names the content of a user's tray: two answers with equal versions differ in nothing but `asOf`.
@_spi(Replication) public struct TrayVersion: Hashable, Sendable, Codable, CustomStringConvertible {
    /// As in ``Changes/stream``.
    public var stream: UInt32
    /// The newest event that ``TrayQueries/changes(of:after:history:limit:)`` shows; 0 without any.
    public var newestChange: Seq
    /// The mark of the store's history at that event (``StoreHistory/mark(at:)``).
    public var history: String

    package init(stream: UInt32, newestChange: Seq, _ history: StoreHistory) {
        (self.stream, self.newestChange) = (stream, newestChange)
        self.history = history.mark(at: newestChange)
    }

    /// A text that differs where versions differ; it has only letters, digits and `-`.
    public var description: String { "\(stream)-\(newestChange)" + (history.isEmpty ? "" : "-\(history)") }
}
