import TraylogQueries

/// The queries of a store for threads: each blocks the calling thread for as long as reading takes, microseconds from memory
/// and a few milliseconds from a cold disk.
///
/// `store.blocking` and `reader.blocking` have them. The separate name keeps a task, which must not block the few threads
/// that all tasks share, from calling them by accident.
public protocol BlockingQueries: Sendable {
    /// The source of the answers. No other module sees it, so only this library's types conform.
    @_spi(Internals) var queries: Queries { get }
}

extension TrayQueries {
    /// The same queries for threads: they block the caller.
    public var blocking: BlockingReader { BlockingReader(owner: self) }

    /// The same without the store itself, for closures that must not keep it.
    var view: BlockingView { BlockingView(queries) }
}

/// The blocking queries of a store or a reader, which it keeps open.
public struct BlockingReader: BlockingQueries {
    private let owner: any TrayQueries

    init(owner: any TrayQueries) { self.owner = owner }

    /// The source of the answers.
    @_spi(Internals) public var queries: Queries { owner.queries }

    /// Closes the store or the reader, as its own `close()` does.
    ///
    /// ```swift
    /// reader.blocking.close()
    /// ```
    @available(*, noasync, message: "use `await reader.close`; this call blocks a thread that tasks share")
    public func close() {
        if let store = owner as? Store { store.blocking.close() } else { (owner as? StoreReader)?.closeNow() }
    }
}

/// The blocking queries of a store, for closures that outlive the store itself.
struct BlockingView: BlockingQueries {
    let queries: Queries

    init(_ queries: Queries) { self.queries = queries }
}
