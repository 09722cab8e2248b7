import Hummingbird
import NIOCore
import Synchronization
@_spi(Replication) @_spi(Operations) import Traylog
@_spi(Witness) import TraylogAudit

/// One store behind the routes, and what all its requests share.
package final class Service: Sendable {
    static let longestLine = 1 << 20
    static let longestHead = 16 << 10
    static let longestTarget = 8 << 10
    static let mostCommands = 1_000

    package let store: Store
    package let storeIdentity: String
    /// Which events the store shares with a store that it was restored from; it changes only when the store is opened.
    let history: StoreHistory
    package let configuration: ServiceConfiguration
    package let authenticator: Authenticator
    /// Signs checkpoints.
    package let checkpointKey: NotePrivateKey
    package let admission: Admission
    package let metrics: ServerMetrics
    package let jobs = Jobs()
    /// Nil where no witness cosigns checkpoints.
    package let witnesses: Witnesses?
    /// Nil where reading is not recorded.
    let accessLog: AccessLog?
    package let answers: OpenAnswers
    package let devices: any Devices
    package let items: ItemFolds
    package let log: ServiceLog
    package let treeAtStart: TreeAtStart
    let writerProbe: WriterProbe
    package let healthProbe: HealthProbe
    package let holds: Holds
    /// Nil for a server on its own.
    package let cluster: (any ClusterNodeHost)?
    /// Nil for a server on its own.
    package let pass: NodePass?
    package let routes: RouteTable
    /// The description of the API (`/openapi.json`).
    ///
    /// One buffer, which all answers share.
    package let description: ByteBuffer
    private let draining = Mutex(false)
    /// Held while damage that a read met is recorded, as several may meet it at once.
    let damageNotes = Mutex(())

    init(
        store: Store, configuration: ServiceConfiguration, authenticator: Authenticator,
        checkpointKey: NotePrivateKey, devices: any Devices, metrics: ServerMetrics, log: ServiceLog,
        cluster: (any ClusterNodeHost)? = nil,
        pass: NodePass? = nil, admission: Admission, answers: OpenAnswers, routes: RouteTable, description: ByteBuffer,
        policy: (witnesses: WitnessPolicy, interval: Duration)? = nil
    ) async throws {
        witnesses = try policy.map { policy in
            try Witnesses(
                store, key: checkpointKey, origin: checkpointKey.publicKey.name, directory: configuration.directory,
                policy: policy.witnesses, interval: policy.interval, log: log)
        }
        self.metrics = metrics
        self.cluster = cluster
        self.pass = pass
        self.devices = devices
        writerProbe = WriterProbe(store)
        healthProbe = HealthProbe(store, limits: configuration.healthLimits)
        holds = Holds(store)
        items = ItemFolds(store)
        accessLog = configuration.recordsAccess ? AccessLog(store) : nil
        self.store = store
        history = try await store.storeHistory()
        if let cluster { storeIdentity = cluster.identity } else { storeIdentity = try await store.storeIdentity() }
        self.configuration = configuration
        self.authenticator = authenticator
        self.checkpointKey = checkpointKey
        self.log = log
        (self.admission, self.answers) = (admission, answers)
        (self.routes, self.description) = (routes, description)
        treeAtStart = TreeAtStart(store, log: log)
    }

    /// Whether the server was told to stop: it is not ready then, and takes no new live streams.
    package var isDraining: Bool { draining.withLock { $0 } }

    /// Closes the store; a node gives its lease up first.
    package func close() async {
        await treeAtStart.end()
        if let cluster { await cluster.stop() } else { await store.close() }
    }

    /// Which of several it is; nil for a server that is not divided.
    package var partition: Int? {
        guard let settings = cluster?.settings, settings.partitions.count > 1 else { return nil }
        return settings.partition
    }

    /// The name of the log in checkpoints: logs of several partitions must not look like one that forks.
    var origin: String {
        let name = checkpointKey.publicKey.name
        return partition.map { "\(name)/\($0)" } ?? name
    }

    /// A checkpoint of the first `last` events or more, for a file that shows by itself which log it is of: the newest one that a
    /// quorum of witnesses has seen, or else one of exactly these events, which only this server signs.
    ///
    /// - Returns: nil for an empty log.
    package func checkpoint(through last: Seq) async throws -> SignedNote? {
        let seen = witnesses?.published
        if let seen, try Checkpoint(seen.body).head.size >= UInt64(last) { return seen }
        guard last > .zero else { return seen }
        let head = try await store.proofs.treeHead(asOf: .seq(last))
        return try Checkpoint(origin: origin, head: head).signed(with: checkpointKey)
    }

    /// Has checkpoints cosigned until the task is cancelled, where that is wanted.
    func witness() async {
        guard let witnesses else { return }
        await treeAtStart.wait()
        await witnesses.run()
    }

    func drain() {
        draining.withLock { $0 = true }
        answers.endAll()
    }
}

/// What the service was told at its start.
package struct ServiceConfiguration: Sendable {
    /// The store's.
    package var directory: String
    var rateUser = 0
    var rateKey = 0
    var logsUsers = false
    /// Whether the log says who reads what was stored about a person.
    package var recordsAccess = false
    /// A proxy says who the peer is.
    package var isBehindProxy = false
    /// Whether clients reach the server by TLS, its own or a proxy's.
    package var isSecure = false
    package var origins: AllowedOrigins
    /// Whether it serves the modules for web pages.
    var hasBell = true
    /// How old backups and verifications may be.
    var healthLimits = StoreHealth.Limits()
}

/// Options that a server cannot start with; the description says which, and what to do.
public struct ConfigurationError: Error, CustomStringConvertible {
    /// Names the option at fault, and says what to do.
    public let description: String

    package init(_ description: String) { self.description = description }
}

/// ``Service``, where the protocol of that name (ServiceLifecycle) is known, too.
package typealias HTTPService = Service
