@_spi(Operations) import TraylogChecks
import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogStates

/// Derives the states of a store that no program has open for writing from its log again.
@_spi(Operations) public enum Rebuild {
    /// Writes the store to a new file with names, states and due times that are folded from the log, compares them with the log
    /// once more, and lets the file take the place of the old one.
    ///
    /// The old states are not read, so they may be damaged in any way. A kill at any moment leaves the old store or the new one.
    /// Queries of other processes go on meanwhile.
    ///
    /// - Parameters:
    ///   - progress: told how far it is and how far it goes, in events, each of which is copied, folded and compared; throws
    ///     to give up.
    /// - Returns: what the comparison of the new states with the log found: no difference.
    /// - Throws: ``TraylogError``: as for opening a store for writing, `damaged` for an event that cannot be read. The store
    ///   is as it was then.
    public static func run(
        directory: String, options: StoreOptions = StoreOptions(),
        progress: (_ done: UInt64, _ total: UInt64) throws -> Void
    ) throws(TraylogError) -> ReplayReport {
        do {
            try options.validate()
            let directory = try Environment.resolve(directory)
            var configuration = Environment.Configuration(options)
            configuration.creates = false
            let environment = try Environment.open(
                directory: directory, access: .readWrite, databases: Tables.allNames, configuration: configuration)
            defer { environment.close() }
            return try withoutActuallyEscaping(progress) { progress in
                try run(directory, environment, progress: progress)
            }
        } catch {
            throw TraylogError(error, in: directory)
        }
    }

    /// The same for a file that this process has open, and no writer uses yet.
    @discardableResult
    package static func run(
        _ directory: String, _ environment: Environment,
        progress: @escaping (UInt64, UInt64) throws -> Void = { _, _ in }
    ) throws -> ReplayReport {
        try Replay.timed {
            let tables = Tables(environment)
            var plan = RewritePlan()
            plan.isRebuild = true
            let rewrite = StoreRewrite(
                directory: directory, environment: environment, tables: tables,
                host: try ClosedStore(environment, tables), plan: plan, progress: progress)
            let outcome = try rewrite.run()
            try environment.finishReplacement()
            return outcome.replay ?? ReplayReport()
        }
    }
}

/// A store without a writer, which nothing changes while it is written anew.
private struct ClosedStore: RewriteHost {
    private let environment: Environment
    private let moment: StoreMoment

    /// - Throws: ``PackedError`` `newer`: whoever wrote that knows more than the log and this version.
    init(_ environment: Environment, _ tables: Tables) throws {
        self.environment = environment
        let head = try environment.read { try tables.log.events.head(in: $0) }
        do {
            let record = try environment.read { try StoreRecord.read(tables.log.meta, in: $0) }
            moment = StoreMoment(record: record ?? .new(), head: head, now: head.recordedAt)
        } catch PackedError.damaged {
            // With a new secret: every identity is derived anew.
            moment = StoreMoment(record: .new(), head: head, now: head.recordedAt)
        }
    }

    func announce(floor: UInt64) -> StoreMoment { moment }
    func withdrawFloor() {}
    func announceErasure(of stream: StreamID) {}
    func withdrawErasure() {}

    func replaceEnvironment(
        by successor: Environment, erasing erased: StreamID?,
        fill: @escaping @Sendable (StoreMoment, Agreement) throws -> Void, onExchange: @escaping @Sendable () -> Void
    ) throws {
        try environment.replace(
            by: successor, beforeRename: { try fill(moment) { _ in nil } },
            exchange: { goOn in
                onExchange()
                goOn()
            })
    }

    func write(_ body: @escaping @Sendable (inout WriteTransaction) throws -> Void) throws(TraylogError) {
        do {
            try environment.write(body)
        } catch {
            throw TraylogError(error, in: environment.directory)
        }
    }

    func holdWrites() {}
    func releaseWrites() {}
}
