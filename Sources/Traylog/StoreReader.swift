import Synchronization
import TraylogDomain
import TraylogLMDB
import TraylogObservation
import TraylogPlatform
import TraylogQueries
import TraylogStates
import TraylogWriter

/// A store open for reading only.
///
/// Any number of processes can read while one writes.
///
/// A reader is never behind the last commit, and never writes. It folds the events that the stored states lack by itself.
///
/// It needs permission to read the directory and all of its files. If it may also write `open.lock` and the `lock.mdb` of the
/// environment in use, the writing process keeps the pages of a query for as long as the query lasts. If it may not, because
/// the medium is read-only or the store belongs to another user, it reads **without locks**: each answer is checked afterwards,
/// and the query is repeated if a commit may have overwritten its pages. So answers are as correct as with locks. Three things differ:
///
/// - Beside a writer that commits hundreds of times a second, long queries may fail with ``StoreFailure/Code/busy``: repeat them.
/// - `backup(to:)` fails with ``StoreFailure/Code/permissionDenied``: copy the directory as it is if nobody writes it, or use
///   `traylog export`.
/// - A store whose writer was killed may have to be opened once by a user who may write it; the error says so.
public final class StoreReader: TrayQueries {
    /// The source of the answers.
    @_spi(Internals) public let queries: Queries
    /// The absolute path of the store's directory, as it was resolved at opening.
    public var path: String { directory }

    /// Whether the reader was closed, or the ``Store`` of this process whose files it uses: its queries fail with `closed`.
    public var isClosed: Bool { end.isSet.load(ordering: .relaxed) }

    private let directory: String
    private let environment: Environment
    private let end: End

    /// Ends a reader from outside.
    private final class End: Sendable {
        let isSet = Atomic(false)
        private let hub = Monitor<ObservationHub?>(nil)

        /// Whether it was ended before.
        func watch(_ hub: ObservationHub) {
            let isSet = self.hub.withLock { known in
                known = hub
                return self.isSet.load(ordering: .relaxed)
            }
            if isSet { hub.end() }
        }

        func callAsFunction() {
            isSet.store(true, ordering: .relaxed)
            hub.withLock { $0 }?.end()
        }
    }

    private init(
        directory: String, environment: Environment, source: FileSource, end: End, observer: (any StoreObserver)?
    ) {
        self.directory = directory
        self.environment = environment
        self.end = end
        // In this process identities only distinguish observers.
        // The opening made sure of it.
        var random = RandomPool()
        let (key0, key1) = random.next16()
        let hub = ObservationHub(hasher: IdentityHasher(key0: key0, key1: key1)) { (hub) throws(ThreadRefused) in
            try TailWatcher.start(source, hub)
        }
        queries = Queries(source: source, hub: hub, observer: observer)
        end.watch(hub)
    }

    deinit {
        closeNow()
    }

    /// Opens the store in `directory`; creates nothing.
    ///
    /// It blocks the calling thread for a few milliseconds; in a task there is `opened`.
    ///
    /// A process may have several readers of a store, also beside its ``Store``: they share the files, and each sees every
    /// append that returned. When the ``Store`` is closed, so are the readers that were opened beside it. A ``Store`` cannot be
    /// opened while this process has a reader that was opened before.
    ///
    /// ```swift
    /// let reader = try StoreReader.open("/var/lib/shop/trays")
    /// print(try await reader.tray(of: "ann").unseen)
    /// await reader.close()
    /// ```
    ///
    /// - Throws: ``TraylogError/refused(_:)``, `invalid`, for an option out of its range; ``TraylogError/failed(_:)``: `notFound` (also
    ///   later, when the directory was removed or replaced), `unusableTarget` for a path with a NUL character, `alreadyOpen` (this process is opening
    ///   it for writing at this moment), `newerFormat`, `foreignFile`, `damaged`, `permissionDenied`, `readersFull`, `unsupported`.
    public static func open(
        _ directory: String, options: StoreOptions = StoreOptions()
    ) throws(TraylogError) -> StoreReader {
        do {
            try options.validate()
            let directory = try Environment.resolve(directory)
            Shutdown.finish(directory)
            let end = End()
            let environment = try OpenEnvironments.borrow(directory, for: ObjectIdentifier(end), end: { end() }) {
                try Tables.openForReading(directory, options)
            }
            let source = FileSource(
                directory: directory, environment: environment, tables: Tables(environment))
            return StoreReader(
                directory: directory, environment: environment, source: source, end: end, observer: options.observer)
        } catch {
            throw TraylogError(error, in: directory)
        }
    }

    /// Opens the store in `directory` as `open` does.
    ///
    /// A separate thread does the work, and the task waits.
    ///
    /// ```swift
    /// let reader = try await StoreReader.opened("/var/lib/shop/trays")
    /// ```
    ///
    /// - Throws: as `open`.
    public static func opened(
        _ directory: String, options: StoreOptions = StoreOptions()
    ) async throws(TraylogError) -> StoreReader {
        try await onThread(in: directory) { () throws(TraylogError) in try open(directory, options: options) }
    }

    /// Closes the file and ends observations, after the queries that run, while the task waits.
    ///
    /// Later calls fail with `closed`. A second call waits for the first one. Cancelling the task does not keep the reader open.
    ///
    /// ```swift
    /// await reader.close()
    /// ```
    public func close() async {
        // Where the system refuses a thread, the calling thread closes.
        do {
            try await onThread(in: directory) { self.closeNow() }
        } catch {
            closeNow()
        }
    }

    func closeNow() {
        end.isSet.store(true, ordering: .relaxed)
        guard !environment.isInherited else { return }
        queries.hub.end()
        queries.isClosed.store(true, ordering: .relaxed)
        queries.closePools()
        if OpenEnvironments.giveBack(environment, from: ObjectIdentifier(end)) { environment.close() }
    }
}

/// Runs a blocking call on a new thread while the task waits.
///
/// It serves calls made before a store has threads.
func onThread<Answer: Sendable>(
    in directory: String, _ body: @escaping @Sendable () throws(TraylogError) -> Answer
) async throws(TraylogError) -> Answer {
    try await Waiting.suspended { answer in
        do throws(ThreadRefused) {
            _ = try OSThread.start(name: "traylog-open") { answer(Result(catching: body)) }
        } catch {
            answer(.failure(TraylogError(error, in: directory)))
        }
    }
}
