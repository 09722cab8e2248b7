/// The blocking queries of a store, for closures that outlive the store itself.
struct BlockingQueries: TrayQueries {
    let queries: Queries

    init(_ queries: Queries) { self.queries = queries }
}
