/// Why a fetcher did not fetch the next page.
public enum FetchError: Error, Hashable, Sendable {
    /// The last page was fetched already, or the fetcher's limit is reached: see ``InboxFetcher/endReached``.
    case endReached
    /// The store could not answer.
    case store(TraylogError)
}

extension FetchError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .endReached: "endReached: there is no next page, or the fetcher's limit is reached"
        case .store(let error): error.description
        }
    }
}
