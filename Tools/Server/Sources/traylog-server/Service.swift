import Hummingbird
import Synchronization
import Traylog
import TraylogAudit

/// The store behind its routes, and what all requests share.
final class Service: Sendable {
    static let longestBody = 8 << 20
    static let longestLine = 1 << 20
    static let longestHead = 16 << 10
    static let longestTarget = 8 << 10
    static let mostCommands = 1_000

    let store: Store
    let storeIdentity: String
    /// Which events the store shares with a store that it was restored from; it changes with an opening only.
    let history: StoreHistory
    let configuration: ServiceConfiguration
    let authenticator: Authenticator
    /// Signs checkpoints.
    let checkpointKey: NotePrivateKey
    let limits: RateLimits
    let metrics: Metrics
    let jobs = Jobs()
    let answers: OpenAnswers
    let devices: any Devices
    let topics: TopicIndex
    let items: ItemFolds
    let log: ServiceLog
    /// Nil for a server on its own.
    let cluster: Cluster?
    /// Nil without a keys file.
    let pass: NodePass?
    private let draining = Mutex(false)

    init(
        store: Store, configuration: ServiceConfiguration, authenticator: Authenticator,
        checkpointKey: NotePrivateKey, devices: any Devices, metrics: Metrics, log: ServiceLog, cluster: Cluster? = nil,
        pass: NodePass? = nil, limits: RateLimits, answers: OpenAnswers
    ) async throws {
        self.metrics = metrics
        self.cluster = cluster
        self.pass = pass
        self.devices = devices
        topics = TopicIndex(store)
        items = ItemFolds(store)
        self.store = store
        history = try await store.storeHistory()
        if let cluster { storeIdentity = cluster.identity } else { storeIdentity = try await store.storeIdentity() }
        self.configuration = configuration
        self.authenticator = authenticator
        self.checkpointKey = checkpointKey
        self.log = log
        (self.limits, self.answers) = (limits, answers)
    }

    /// Whether the server was told to stop: it is not ready then, and takes no new live streams.
    var isDraining: Bool { draining.withLock { $0 } }

    /// Closes the store; a node gives its lease up first.
    func close() async {
        if let cluster { await cluster.stop() } else { await store.close() }
    }

    /// Which of several it is; nil for a server that is not divided.
    var partition: Int? {
        guard let settings = cluster?.settings, settings.partitions.count > 1 else { return nil }
        return settings.partition
    }

    /// The name of the log in checkpoints: logs of several partitions must not look like one that forks.
    var origin: String {
        let name = checkpointKey.publicKey.name
        return partition.map { "\(name)/\($0)" } ?? name
    }

    func drain() {
        draining.withLock { $0 = true }
        answers.endAll()
    }
}

/// What the service was told at its start.
struct ServiceConfiguration: Sendable {
    /// The store's.
    var directory: String
    var rateUser = 0
    var rateKey = 0
    var logsUsers = false
    /// A proxy says who the peer is.
    var isBehindProxy = false
    var origins: AllowedOrigins
    /// Whether it serves the modules for web pages.
    var hasBell = true
}

struct ConfigurationError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
