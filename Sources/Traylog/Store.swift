import TraylogDomain
import TraylogLMDB
import TraylogObservation
import TraylogPlatform
@_spi(Replication) import TraylogQueries
@_spi(Operations) import TraylogRewrite
import TraylogStates
@_spi(Replication) import TraylogWriter

/// A store open for reading and writing; one process at a time has it.
///
/// Safe to use from any thread and task. Appends of many callers share one sync; queries see every append that
/// returned, and the caller's own.
public final class Store: TrayQueries {
    /// The source of the answers.
    @_spi(Internals) public let queries: Queries
    /// The absolute path of the store's directory, as it was resolved at opening.
    public var path: String { directory }

    /// Whether the store was closed, or is being closed: commands and queries fail with `closed`.
    public var isClosed: Bool { shutdown.isBegun }

    let directory: String
    let shutdown: Shutdown
    let writer: Writer
    let projections: ProjectionBoard
    let rewriter: StoreRewriter
    private let repair: StateRepair
    let hasher: IdentityHasher
    let observer: (any StoreObserver)?
    /// Bytes of records that one transaction may have.
    private let largestGroupBytes: Int?

    private init(
        directory: String, environment: Environment, queries: Queries, hasher: IdentityHasher, writer: Writer,
        projections: ProjectionBoard, rewriter: StoreRewriter, repair: StateRepair, options: StoreOptions,
        log: CalledLog?,
        threads: Threads, isTemporary: Bool
    ) {
        largestGroupBytes = log?.log.largestGroupBytes
        (self.projections, self.hasher, observer) = (projections, hasher, options.observer)
        self.directory = directory
        self.writer = writer
        self.queries = queries
        (self.rewriter, self.repair) = (rewriter, repair)
        shutdown = Shutdown(directory, environment, writer, options.observer) {
            threads.compaction?.end()
            projections.close()
            writer.finishSoon()
            threads.writer.join()
            log?.executor.close()
            queries.hub.end()
            rewriter.erasures.close()
            OpenEnvironments.remove(environment)
            environment.close()
            queries.closePools()
            if isTemporary { TemporaryStores.remove(directory) }
        }
    }

    /// The threads that a store has from its opening on.
    private struct Threads: Sendable {
        let writer: OSThread
        let compaction: Compaction?

        struct Compaction: Sendable {
            let work: AutomaticCompaction
            let thread: OSThread

            func end() {
                work.stopSoon()
                thread.join()
            }
        }
    }

    /// Any thread may release a store last, so none has to wait here for the disk.
    deinit {
        shutdown.runSoon()
    }

    /// Opens the store in `directory`, and creates both if they are missing; the directory's parent must exist.
    ///
    /// The path is resolved now: the store stays the same when the process changes its directory, and every spelling of the path
    /// leads to it. A directory without a store must be empty, except for hidden files, `lost+found` and the files that Traylog's
    /// programs keep beside a store. If the directory is removed or replaced while the store is open, appends fail with `notFound`,
    /// which is reported to the observer.
    ///
    /// After a crash it recovers by itself: it looks at each event that the stored states did not hold yet, at most about
    /// twice ``StoreOptions/tailEvents``. If it cannot read names, states or due times, it derives them from the log first, which
    /// takes a few microseconds for each event, and tells the observer.
    ///
    /// It blocks the calling thread for a few milliseconds, after a crash for up to some seconds. It has no `await`, because it
    /// is the first call of most programs; in a running server, call `opened`.
    ///
    /// ```swift
    /// let store = try Store.open("/var/lib/shop/trays")
    /// ```
    ///
    /// - Parameters:
    ///   - directory: the store's directory.
    ///   - options: options for opening.
    /// - Throws: ``TraylogError/refused(_:)``, `invalid`, for an option out of its range; ``TraylogError/failed(_:)``: `notFound`
    ///   without a parent, `unusableTarget` for a directory with other files or a path with a NUL character, `openForWriting` with
    ///   the holder's pid, `alreadyOpen`, `newerFormat`, `foreignFile`, `damaged`, `permissionDenied`, `unsupported`, `diskFull`,
    ///   `outOfThreads`.
    public static func open(
        _ directory: String, options: StoreOptions = StoreOptions()
    ) throws(TraylogError) -> Store {
        try open(directory, options: options, logOfRecord: nil)
    }

    /// Opens the store in `directory` as `open` does.
    ///
    /// A separate thread does the work, and the task waits.
    ///
    /// ```swift
    /// let store = try await Store.opened("/var/lib/shop/trays")
    /// ```
    ///
    /// Cancelling the task does not end the opening.
    ///
    /// - Parameters:
    ///   - directory: the store's directory.
    ///   - options: options for opening.
    /// - Throws: as `open`.
    public static func opened(
        _ directory: String, options: StoreOptions = StoreOptions()
    ) async throws(TraylogError) -> Store {
        try await onThread(in: directory) { () throws(TraylogError) in try open(directory, options: options) }
    }

    /// Opens the store in `directory` as `open` does, for a store whose events go to another log first.
    ///
    /// - Parameters:
    ///   - directory: the store's directory.
    ///   - options: options for opening.
    ///   - logOfRecord: takes every group of events before the store does; nil for a store that is its own log of record.
    ///     Such a store is opened with ``StoreOptions/Ticking/manual`` and without ``StoreOptions/compaction``: whoever
    ///     implements the log says when to decide.
    /// - Throws: as `open` does.
    @_spi(Replication)
    public static func open(
        _ directory: String, options: StoreOptions = StoreOptions(), logOfRecord: (any LogOfRecord)?
    ) throws(TraylogError) -> Store {
        guard !directory.isEmpty else {
            throw .failed(
                StoreFailure(code: .notFound, message: "the name of the store's directory is empty: give its path"))
        }
        return try open(directory, options: options, logOfRecord: logOfRecord, isTemporary: false)
    }

    /// Opens an empty store in a directory of its own, for tests.
    ///
    /// It does not survive a power loss, and is removed when it is closed or released, or when the process exits.
    ///
    /// The directory is made in `TMPDIR`, else in `/tmp`. A process that ends by a signal leaves it there.
    /// ``withTemporary(options:_:)`` closes the store by itself.
    ///
    /// ```swift
    /// let store = try Store.temporary()
    /// try await store.notify("ann", title: "For a test")
    /// ```
    ///
    /// - Parameter options: as for `open(_:options:)`, but never durable.
    /// - Throws: ``TraylogError/failed(_:)``: `diskFull`, `permissionDenied`, `unsupported`.
    public static func temporary(options: StoreOptions = StoreOptions()) throws(TraylogError) -> Store {
        do {
            try SystemRandom.requireSource()
        } catch {
            throw TraylogError(error, in: Files.temporaryDirectory)
        }
        var random = RandomPool()
        let (first, second) = random.next16()
        var options = options
        options.durability = .relaxed
        let name = "traylog-\(String(first, radix: 36))\(String(second, radix: 36))"
        let directory = Files.absolutePath(of: "\(Files.temporaryDirectory)/\(name)")
        TemporaryStores.add(directory)
        do {
            return try open(directory, options: options, logOfRecord: nil, isTemporary: true)
        } catch {
            TemporaryStores.remove(directory)
            throw error
        }
    }

    /// Runs a closure with an empty store, which is closed and removed when the closure returns or throws.
    ///
    /// ```swift
    /// let unread = try await Store.withTemporary { store in
    ///     try await store.notify("ann", title: "For a test")
    ///     return try await store.tray(of: "ann").unread
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - options: as for ``temporary(options:)``.
    ///   - body: gets the store.
    /// - Throws: as ``temporary(options:)``, and the errors of `body`.
    public nonisolated(nonsending) static func withTemporary<Answer>(
        options: StoreOptions = StoreOptions(), _ body: nonisolated(nonsending) (Store) async throws -> Answer
    ) async throws -> Answer {
        let store = try temporary(options: options)
        do {
            let answer = try await body(store)
            await store.close()
            return answer
        } catch {
            await store.close()
            throw error
        }
    }

    private static func open(
        _ directory: String, options: StoreOptions, logOfRecord: (any LogOfRecord)?, isTemporary: Bool
    ) throws(TraylogError) -> Store {
        try open(
            directory, options: options, logOfRecord: logOfRecord, origin: logOfRecord == nil ? .itself : .logOfRecord,
            isTemporary: isTemporary)
    }

    /// Opens a store that takes its events from another one by ``apply(_:expecting:root:source:)``: it stays a copy.
    static func openToFollow(_ directory: String, options: StoreOptions) throws(TraylogError) -> Store {
        try open(directory, options: options, logOfRecord: nil, origin: .otherStore, isTemporary: false)
    }

    private static func open(
        _ directory: String, options: StoreOptions, logOfRecord: (any LogOfRecord)?, origin: EventOrigin,
        isTemporary: Bool
    ) throws(TraylogError) -> Store {
        do {
            try options.validate()
            let (directory, options) = (try Environment.resolve(directory), options.withAbsolutePaths)
            Shutdown.finish(directory)
            let environment = try Environment.open(
                directory: directory, access: .readWrite, databases: Tables.allNames,
                configuration: Environment.Configuration(options))
            do {
                let store = try start(
                    directory, environment, options, logOfRecord, origin: origin, isTemporary: isTemporary)
                OpenEnvironments.add(environment)
                return store
            } catch {
                environment.close()
                throw error
            }
        } catch {
            throw TraylogError(error, in: directory)
        }
    }

    private static func start(
        _ directory: String, _ environment: Environment, _ options: StoreOptions, _ logOfRecord: (any LogOfRecord)?,
        origin: EventOrigin, isTemporary: Bool
    ) throws -> Store {
        // A process that died, or a relaxed one, may have left a commit that can be read and is not on disk yet. All answers
        // from here on depend on it.
        try environment.sync()
        let tables = Tables(environment)
        let store = try openStates(directory, environment, tables, options, origin: origin)
        let (hasher, head) = (store.hasher, store.head.seq)
        let erasures = try RecentErasures(directory: directory, hasher: hasher)
        let memory = StoreLock(WriterMemory(store: store, flusher: Flusher(options)))
        let hub = ObservationHub(hasher: hasher, watch: nil)
        let projections = ProjectionBoard(directory: directory)
        let writer = Writer(directory: directory, environment: environment)
        let source = LiveSource(
            directory: directory, environment: environment, tables: tables, memory: memory, hasher: hasher,
            clock: options.clock)
        let rewriter = StoreRewriter(source: source, host: writer, erasures: erasures)
        let queries = Queries(source: source, hub: hub, observer: options.observer)
        let repair = StateRepair(rewriter, jobs: queries.jobs, observer: options.observer)
        memory.onDamage { [weak repair] in repair?.begin(after: $0) }
        let log = try logOfRecord.map { try CalledLog($0) }
        let threads: Threads
        do {
            threads = try start(rewriter, options, memory) { flushThread in
                WriterLoop(
                    writer, directory: directory, environment: environment, tables: tables, memory: memory,
                    listener: Announcer(directory: directory, hub: hub, projections: projections, head: head),
                    options: options, logOfRecord: log
                ).run(flushThread)
            }
        } catch {
            log?.executor.close()
            throw error
        }
        erasures.forgetOnTime(queries.jobs)
        return Store(
            directory: directory, environment: environment, queries: queries, hasher: hasher, writer: writer,
            projections: projections, rewriter: rewriter, repair: repair, options: options,
            log: log, threads: threads, isTemporary: isTemporary)
    }

    /// Makes the writer's memory from the file, whose states it derives anew where they cannot be read.
    private static func openStates(
        _ directory: String, _ environment: Environment, _ tables: Tables, _ options: StoreOptions, origin: EventOrigin
    ) throws -> LiveStore {
        func open() throws -> LiveStore {
            try environment.requireNoDamage()
            try LiveStore.claim(environment, tables: tables, options: options, origin: origin)
            return try LiveStore.open(environment, tables: tables, options: options)
        }
        do {
            return try open()
        } catch  where DerivedTables.caused(error) {
            try Rebuild.run(directory, environment)
            let store = try open()
            options.observer?.observe(.rebuilt(after: TraylogError(error, in: directory)))
            return store
        }
    }

    /// Starts the store's threads; none stays when the system refuses one.
    private static func start(
        _ rewriter: StoreRewriter, _ options: StoreOptions, _ memory: StoreLock,
        _ write: @escaping @Sendable (_ flushThread: OSThread) -> Void
    ) throws(ThreadRefused) -> Threads {
        var compaction: Threads.Compaction?
        if let policy = options.compaction {
            let work = AutomaticCompaction(policy, observer: options.observer)
            let thread = try OSThread.start(name: "traylog-compact") { work.run(rewriter) }
            compaction = Threads.Compaction(work: work, thread: thread)
        }
        var flushThread: OSThread?
        do throws(ThreadRefused) {
            let second = try WriterLoop.startFlushThread(memory)
            flushThread = second
            let writer = try OSThread.start(name: "traylog-writer") { write(second) }
            return Threads(writer: writer, compaction: compaction)
        } catch {
            if let flushThread { WriterLoop.endFlushThread(flushThread, memory) }
            compaction?.end()
            throw error
        }
    }

    /// Brings the stored states up to date and releases the store, while the task waits; later calls fail with
    /// `closed`.
    ///
    /// Projections are stored at their present positions.
    ///
    /// Earlier commands are performed first. Observations end. A second call waits for the first one.
    /// Cancelling the task does not keep the store open.
    ///
    /// From within the store's own ``StoreObserver`` it returns at once, and the store closes after the observer has returned.
    ///
    /// ```swift
    /// await store.close()
    /// ```
    public func close() async {
        let shutdown = shutdown
        await withCheckedContinuation { continuation in shutdown.run { continuation.resume() } }
    }
}

extension Store {
    /// Performs one command and returns when it is durable.
    ///
    /// ```swift
    /// let receipt = try await store.perform(.notify("ann", title: "Build 17 failed"))
    /// print(receipt.seq ?? 0)
    /// ```
    ///
    /// Cancelling the task withdraws a command that the store has not begun to decide: the call fails with `cancelled`, and nothing
    /// is stored. After that, the command goes on, and the call returns its result.
    ///
    /// - Throws: ``TraylogError/refused(_:)``; ``TraylogError/failed(_:)``, after which nothing was stored as far as
    ///   the store knows (after a power loss meanwhile, only repeating the command's ``Command/key`` can tell).
    @discardableResult
    public func perform(_ command: Command) async throws(TraylogError) -> Receipt {
        try await outcome(of: [command], .atomic).receipt()
    }

    /// Performs all commands as one transaction: all are stored, or (when one is refused) none.
    ///
    /// ```swift
    /// try await store.perform([.subscribe("ann", to: "releases"), .mute(.thread("ci"), of: "ann")])
    /// ```
    ///
    /// - Returns: a receipt for each command, in order.
    /// - Throws: ``TraylogError/refused(_:)`` for the first command that is refused, as ``perform(_:)-(Command)`` does. To know which
    ///   one that is, use ``perform(_:mode:)`` with ``BatchMode/atomic``: its last result is the refusal.
    @discardableResult
    public func perform(_ commands: [Command]) async throws(TraylogError) -> [Receipt] {
        guard !commands.isEmpty else { return [] }
        return try await outcome(of: commands, .atomic).receipts()
    }

    /// Performs commands in order, with one sync for all, and returns a result for each.
    ///
    /// ```swift
    /// for result in try await store.perform(commands, mode: .each) {
    ///     if case .failure(let refusal) = result { print(refusal.message) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - commands: performed in this order.
    ///   - mode: the effect of a refusal on the other commands.
    /// - Returns: a result for each command that was looked at, in order: a receipt, or the refusal. With `.atomic` a
    /// refusal comes last, at the index of its command, and nothing is stored.
    /// - Throws: ``TraylogError/failed(_:)``, after which none was stored as far as the store knows. With a log of record, whose
    ///   groups are bounded, the first ones may be stored, except with `.atomic`.
    public func perform(_ commands: [Command], mode: BatchMode) async throws(TraylogError) -> [Result<Receipt, Refusal>]
    {
        guard !commands.isEmpty else { return [] }
        guard mode != .atomic, let largestGroupBytes else {
            return try await outcome(of: commands, mode.request).get()
        }
        var results: [Result<Receipt, Refusal>] = []
        for commands in commands.inGroups(of: largestGroupBytes) {
            results += try await outcome(of: commands, mode.request).get()
            if mode == .untilRefusal, case .failure? = results.last { break }
        }
        return results
    }

    private func outcome(
        of commands: [Command], _ mode: AppendRequest.Mode
    ) async throws(TraylogError) -> AppendRequest.Outcome {
        var prepared = PreparedCommands(commands, hasher: hasher)
        if prepared.wantsLook {
            let (source, plain) = (queries.source, prepared)
            prepared = try await queries.pool.run { () throws(TraylogError) in
                var prepared = plain
                prepared.look(in: source)
                return prepared
            }
        }
        let outcome = await writer.append(prepared, mode: mode)
        guard prepared.comparesEdits else { return outcome }
        let queries = queries
        do throws(TraylogError) {
            return try await queries.pool.run { () throws(TraylogError) in
                queries.namingFirstEdits(outcome, of: commands)
            }
        } catch {
            // The command is decided; only the seq in a refusal could be an earlier one.
            return outcome
        }
    }

    /// Stops the process when the memory of the store contradicts itself; for tests.
    package func checkInvariants() throws(TraylogError) {
        try writer.perform { $0.memory.withLock { $0.store.checkInvariants() } }
    }

    /// How many pages of trees were read since the opening; for tests.
    package func countExaminedPages() throws -> Int { try shutdown.environment.countExaminedPages() }
}

/// Decides what happens to the other commands of a batch when one is refused.
public enum BatchMode: String, Hashable, Sendable, Codable {
    /// All are stored, or none.
    case atomic
    /// Each is performed, even if others are refused; for commands from many clients.
    case each
    /// Ends with the first refusal; the commands before it stay stored.
    case untilRefusal

    var request: AppendRequest.Mode {
        switch self {
        case .atomic: .atomic
        case .each: .skippingRefusals
        case .untilRefusal: .untilRefusal
        }
    }
}

extension AppendRequest.Outcome {
    /// The receipts of an atomic request, in which nothing was refused.
    func receipts() throws(TraylogError) -> [Receipt] {
        let results = try get()
        var receipts: [Receipt] = []
        receipts.reserveCapacity(results.count)
        do throws(Refusal) {
            for result in results { receipts.append(try result.get()) }
        } catch {
            throw .refused(error)
        }
        return receipts
    }

    /// The receipt of a request with one command.
    func receipt() throws(TraylogError) -> Receipt {
        let results = try get()
        do throws(Refusal) { return try results[0].get() } catch { throw .refused(error) }
    }
}
