import TraylogDomain
import TraylogPlatform

extension Store {
    /// Starts a projection: from what is stored of it, if that is of its ``Projection/version`` and sound, else from
    /// the first event.
    ///
    /// Returns before it has caught up; several run at once, each at its own position. Each takes a thread.
    ///
    /// - Throws: ``TraylogError``: refused `invalid` with the field `name` for a bad one, and for one that runs in this
    ///   process already; failed `closed`, `newerFormat`, `inputOutput`.
    @discardableResult
    public func project<Value: Projection>(_ type: Value.Type) throws(TraylogError) -> Projector<Value> {
        try project(type, storedEveryMilliseconds: 1_000)
    }

    /// - Parameter storedEveryMilliseconds: how often the value is stored at most.
    package func project<Value: Projection>(
        _ type: Value.Type, storedEveryMilliseconds: Int
    ) throws(TraylogError) -> Projector<Value> {
        do {
            let name = try ProjectionName(Value.name)
            try projections.reserve(name)
            do {
                return try start(type, name, storedEveryMilliseconds)
            } catch {
                projections.release(name)
                throw error
            }
        } catch {
            throw TraylogError(error, in: directory)
        }
    }

    private func start<Value: Projection>(
        _ type: Value.Type, _ name: ProjectionName, _ milliseconds: Int
    ) throws -> Projector<Value> {
        let source = queries.source
        let erasures = projections.erasures
        let found = try source.tables.projections.find(type, name, log: source.tables.log, source.environment)
        let run = ProjectionRun(name, found: found, source: source, writer: writer)
        let record = found.record
        let entry = try projections.start(name, run, since: erasures) {
            OSThread.start(name: "traylog-fold") {
                var loop = ProjectionLoop(run, record: record, intervalMilliseconds: milliseconds)
                loop.live()
            }
        }
        // Commits are reported from now on; this is for those before.
        run.headMoved(to: try head().rawValue)
        return Projector(board: projections, run: run, thread: entry.thread)
    }

    /// Removes what is stored of a projection, which must not run in this process.
    ///
    /// - Returns: whether anything was stored.
    /// - Throws: ``TraylogError``: refused `invalid` with the field `name` when it runs; failed.
    @discardableResult
    public func forgetProjection(named text: String) throws(TraylogError) -> Bool {
        do {
            let name = try ProjectionName(text)
            try projections.reserve(name)
            defer { projections.release(name) }
            let source = queries.source
            return try source.tables.projections.forget(name, in: source.environment, through: writer)
        } catch {
            throw TraylogError(error, in: directory)
        }
    }
}
