import TraylogDomain
import TraylogLMDB

extension TrayQueries {
    /// The value of a projection at the head: what is stored of it, and the log after that folded over it.
    ///
    /// It is never behind and writes nothing, whether or not the projection runs in any process; and it never uses a
    /// stored value that is damaged or of another version (``Projected/origin`` says so).
    ///
    /// - Complexity: O(value + events after the stored position); while a writer runs the projection, these are about
    ///   as many as were appended in the last second. ``advance(_:)`` goes on from an earlier answer.
    public func projected<Value: Projection>(_ type: Value.Type) throws(TraylogError) -> Projected<Value> {
        try queries.answer { source in
            let name = try ProjectionName(Value.name)
            let tables = source.tables
            let found = try tables.projections.find(type, name, log: tables.log, source.environment)
            var projected = found.projected
            try projected.advance(through: source.head().rawValue, tables, source.environment)
            return projected
        }
    }

    /// Folds in what the log has more than an earlier answer.
    ///
    /// - Complexity: O(events after ``Projected/position``).
    public func advance<Value: Projection>(_ projected: inout Projected<Value>) throws(TraylogError) {
        try queries.answer { source in
            try projected.advance(through: source.head().rawValue, source.tables, source.environment)
        }
    }

    /// What is stored of projections, in byte order of their names.
    public func storedProjections() throws(TraylogError) -> [StoredProjection] {
        try queries.answer { source in
            // A closed store says so.
            _ = try source.head()
            return try source.environment.read { try source.tables.projections.all(in: $0) }
        }
    }
}
