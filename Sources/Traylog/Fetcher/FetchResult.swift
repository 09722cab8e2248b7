import TraylogDomain

/// What a fetch brought.
public struct FetchResult: Hashable, Sendable {
    /// The items that the fetcher did not have before, newest position first.
    public var new: [Item]
    /// More was new than a page: what had been loaded was dropped, and the fetcher starts again with the newest page.
    public var gap: Bool
    /// There is nothing more to fetch, as ``InboxFetcher/endReached`` says.
    public var endReached: Bool

    public init(new: [Item], gap: Bool, endReached: Bool) {
        self.new = new
        self.gap = gap
        self.endReached = endReached
    }
}
