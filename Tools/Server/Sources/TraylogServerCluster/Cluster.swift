import Crypto
import Foundation
import Synchronization
@_spi(Operations) @_spi(Wire) import Traylog
import TraylogCluster
import TraylogServer

/// This server as one node of several: its copy of the log of record, and how to reach the others.
final class Cluster: ClusterNodeHost {
    let settings: ClusterSettings
    let node: ClusterNode
    let members: Members
    private let brokerLog: BrokerLog
    private let erasures: Erasures
    /// The name of the store in offsets, the same on every node.
    let identity: String
    private let jetStream: JetStream
    private let asking = BrokerQueue("traylog.broker.figures")
    private let telling = Mutex<Task<Void, Never>?>(nil)

    private static let startTime = Duration.seconds(60)
    /// A monitoring page that nobody has answered for so long may be missing in the broker's configuration.
    private static let pageTime = Duration.seconds(20)
    private static let tellTime = Duration.seconds(1)
    private static let takeoverTime = Duration.seconds(2)

    private init(
        _ settings: ClusterSettings, _ node: ClusterNode, _ brokerLog: BrokerLog, _ members: Members,
        _ erasures: Erasures, _ identity: String, _ jetStream: JetStream
    ) {
        (self.settings, self.node, self.members, self.erasures) = (settings, node, members, erasures)
        (self.brokerLog, self.identity, self.jetStream) = (brokerLog, identity, jetStream)
    }

    /// Looks at the brokers, gets a copy of the store where there is none, and begins to follow.
    ///
    /// - Parameters:
    ///   - directory: the store's.
    ///   - storeOptions: but those that are the node's to say.
    ///   - pass: opens the other nodes' doors.
    /// - Throws: ``UnsafeLog``; ``BrokerError`` when no broker answered for a minute.
    static func start(
        _ settings: ClusterSettings, store directory: String, options storeOptions: StoreOptions, pass: NodePass,
        log: ServiceLog
    ) async throws -> Cluster {
        let connection = try BrokerConnection(settings.brokers)
        let (stream, created) = try await retrying(log) { try await probe(settings, connection, log) }
        if let seed = settings.seed {
            let partition = settings.partitions.count > 1 ? settings.partition : nil
            let seed = Seed(peer: seed, pass: pass, directory: directory, partition: partition)
            try await retrying(log) { try await seed.plant() }
        }
        let (brokerLog, lease, members, erasures) = try await retrying(log) {
            try await BrokerQueue("traylog.broker.start").run { () throws(BrokerError) in
                (
                    try BrokerLog(connection, stream, log),
                    try BrokerLease(connection, stream: stream.name, replicas: stream.replicas),
                    try Members(connection, stream: stream.name, replicas: stream.replicas),
                    try Erasures(connection, stream: stream.name, replicas: stream.replicas)
                )
            }
        }
        var options = NodeOptions(name: settings.advertise, url: settings.advertise)
        options.store = storeOptions
        if settings.partitions.count > 1 { options.restraint = restraint(settings, members) }
        let node = try await ClusterNode.open(directory, options, log: brokerLog, lease: lease)
        let identity = Array(SHA256.hash(data: Array("\(stream.name) \(created)".utf8))).prefix(16)
        let cluster = Cluster(
            settings, node, brokerLog, members, erasures, Array(identity).hex, JetStream(connection: connection))
        await node.start()
        cluster.telling.withLock { $0 = Task { await cluster.tell() } }
        return cluster
    }

    /// Checks that the streams were made with the same number of partitions.
    ///
    /// Nothing is made on brokers that are known to be unsafe.
    ///
    /// - Throws: ``UnsafeLog``; ``OtherPartitions``; ``BrokerError`` when no broker answered for a minute.
    static func claim(_ settings: ClusterSettings, log: ServiceLog) async throws {
        let connection = try BrokerConnection(settings.brokers)
        let probe = BrokerProbe(
            urls: settings.brokers, stream: settings.stream, monitors: settings.monitors, replicas: settings.replicas)
        let findings = settings.allowsUnsafeLog ? [] : await probe.pages().findings
        guard findings.isEmpty else { throw UnsafeLog(findings: findings, mayPass: false) }
        let other = try await retrying(log) { () async throws -> OtherPartitions? in
            guard connection.isConnected else { throw BrokerConnection.trouble(settings.brokers) }
            do throws(BrokerError) {
                return try await BrokerQueue("traylog.broker.partitions").run { () throws(BrokerError) in
                    try settings.partitions.claim(settings.stream, at: connection, replicas: settings.replicas)
                }
            } catch {
                throw Self.explained(error, settings)
            }
        }
        if let other { throw other }
    }

    /// Why brokers that cannot keep three replicas are refused, which no waiting changes; any other error as it is.
    private static func explained(_ error: BrokerError, _ settings: ClusterSettings) -> any Error {
        guard case .refused(let code, let reason) = error, code == BrokerError.noReplicas else { return error }
        let probe = BrokerProbe(
            urls: settings.brokers, stream: settings.stream, monitors: settings.monitors, replicas: settings.replicas)
        return UnsafeLog(findings: [probe.noReplicas(reason)], mayPass: false)
    }

    /// The device tokens of all partitions, once the brokers are known to be safe.
    ///
    /// - Throws: ``BrokerError`` when no broker answered for a minute.
    static func devices(_ settings: ClusterSettings, log: ServiceLog) async throws -> DeviceBucket {
        let connection = try BrokerConnection(settings.brokers)
        return try await retrying(log) { () async throws -> DeviceBucket in
            do throws(BrokerError) {
                return try await BrokerQueue("traylog.broker.devices").run { () throws(BrokerError) in
                    try DeviceBucket(connection, stream: settings.stream, replicas: settings.replicas)
                }
            } catch {
                throw Self.explained(error, settings)
            }
        }
    }

    /// The key that signs the checkpoints of all nodes: the first node's.
    ///
    /// - Throws: ``BrokerError`` when no broker answered for a minute.
    static func checkpointKey(
        _ settings: ClusterSettings, proposing own: String, log: ServiceLog
    ) async throws -> String {
        let connection = try BrokerConnection(settings.brokers)
        return try await retrying(log) {
            try await BrokerQueue("traylog.broker.key").run { () throws(BrokerError) in
                let name = "traylog_\(settings.stream)_checkpoints"
                let bucket = Bucket(jetStream: JetStream(connection: connection), name: name)
                try bucket.make(lasting: nil, replicas: settings.replicas)
                do throws(BrokerError) {
                    try bucket.put("key", Array(own.utf8), replacing: 0)
                } catch .refused(let code, _) where code == BrokerError.wrongLastSequence {}
                guard let (bytes, _) = try bucket.get("key") else { throw .malformed("a bucket without its key") }
                return String(decoding: bytes, as: UTF8.self)
            }
        }
    }

    /// The node whose turn it is to own the partition: partitions are spread over the nodes in the order of their URLs, and those
    /// of a node that is gone fall to the next one.
    ///
    /// - Parameter gone: a node that is not to be counted on.
    private static func turn(_ settings: ClusterSettings, _ members: Members, gone: String? = nil) async -> Members
        .Member?
    {
        guard let nodes = try? await members.all(), !nodes.isEmpty else { return nil }
        let ring = nodes.indices.map { nodes[(settings.partition + $0) % nodes.count] }
        return ring.first { $0.url != gone && $0.isThere }
    }

    /// Lets the node go first whose turn it is.
    private static func restraint(
        _ settings: ClusterSettings, _ members: Members
    ) -> @Sendable (Ownership?) async -> Duration {
        { last in
            let gone = last?.node == settings.advertise ? nil : last?.node
            let member = await turn(settings, members, gone: gone)
            return member == nil || member?.url == settings.advertise ? .zero : takeoverTime
        }
    }

    /// Gives a partition to the node whose turn it is, if that one has come as far.
    private func giveBack(_ status: NodeStatus) async {
        guard settings.partitions.count > 1, status.role == .owner,
            let member = await Self.turn(settings, members), member.url != settings.advertise,
            member.position + 1_000 > status.position.rawValue
        else { return }
        await node.yield()
    }

    func stop() async {
        telling.withLock { $0 }?.cancel()
        await node.stop()
    }

    /// Brokers that are starting answer some seconds later, and so do their pages, and the node that has the copy.
    private static func retrying<Value>(
        _ log: ServiceLog, _ body: () async throws -> Value
    ) async throws -> Value {
        let begin = ContinuousClock.now
        while true {
            do { return try await body() } catch {
                let timeout =
                    switch error {
                    case is BrokerError: startTime
                    case let problem as SeedProblem where problem.mayPass: startTime
                    case let finding as UnsafeLog where finding.mayPass: pageTime
                    default: Duration.zero
                    }
                guard ContinuousClock.now < begin + timeout else { throw error }
                log.write([("cluster", "waiting"), ("error", .string("\(error)"))])
                try await Task.sleep(for: .seconds(1))
            }
        }
    }

    private static func probe(
        _ settings: ClusterSettings, _ connection: BrokerConnection, _ log: ServiceLog
    ) async throws -> (StreamFacts, created: String) {
        guard connection.isConnected else { throw BrokerConnection.trouble(settings.brokers) }
        let probe = BrokerProbe(
            urls: settings.brokers, stream: settings.stream, monitors: settings.monitors, replicas: settings.replicas)
        let found = try await probe.run(connection)
        for warning in found.warnings { log.write([("cluster", "warning"), ("warning", .string(warning))]) }
        let findings = found.findings + found.unread
        guard findings.isEmpty || settings.allowsUnsafeLog else {
            throw UnsafeLog(findings: findings, mayPass: found.findings.isEmpty)
        }
        for finding in findings { log.write([("cluster", "unsafe log"), ("warning", .string(finding))]) }
        return (found.stream, found.created)
    }

    // MARK: What others see

    var store: Store { node.store }

    func status() async -> NodeStatus {
        var status = await node.status()
        // Nothing else goes as long as nothing can be written.
        status.trouble = brokerLog.fullness ?? status.trouble
        return status
    }

    func otherNodes() async -> [String] {
        ((try? await members.all()) ?? []).map(\.url).filter { $0 != settings.advertise }
    }

    /// The URL of the node that decides, unless it is this one or nobody is known to.
    func otherOwner(_ status: NodeStatus) -> String? {
        guard let owner = status.owner, owner.node != settings.advertise else { return nil }
        return owner.url
    }

    /// Waits while a node takes over: until one is known to decide, or something hinders them, at most two seconds.
    func waitForOwner() async throws -> NodeStatus {
        let end = ContinuousClock.now + Self.takeoverTime
        while true {
            let status = await status()
            let isSettled =
                status.role == .owner || status.role == .diverged || status.trouble != nil || otherOwner(status) != nil
            guard !isSettled, ContinuousClock.now < end else { return status }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// The broker that leads first; none where nobody answers.
    func brokerLags() async -> [BrokerLag] {
        let info = try? await asking.run { [jetStream, settings] () throws(BrokerError) in
            try jetStream.stream(settings.stream)
        }
        guard let cluster = info?["cluster"] else { return [] }
        var lags: [BrokerLag] = []
        if let leader = cluster["leader"]?.string { lags.append(BrokerLag(name: leader)) }
        for replica in cluster["replicas"]?.array ?? [] {
            let isThere = (replica["current"]?.bool ?? false) && !(replica["offline"]?.bool ?? false)
            lags.append(
                BrokerLag(
                    name: replica["name"]?.string ?? "",
                    lag: replica["lag"]?.integer?.within(0...LogPosition.highest) ?? 0, isCurrent: isThere))
        }
        return lags
    }

    /// Waits until the erasure that this node has just made is finished, and lets any node tell how it stands meanwhile.
    func finishErasure(_ id: String, _ outcome: JSONValue) async throws {
        let erasure = Erasures.Erasure(position: await status().position, outcome: outcome)
        while (try? await erasures.keep(erasure, id)) == nil { try await Task.sleep(for: .seconds(1)) }
        while await !isFinished(erasure) { try await Task.sleep(for: .seconds(1)) }
    }

    /// How an erasure of this log stands, whichever node has made it; nil for an id of none.
    func erasure(_ id: String) async throws(Problem) -> Jobs.Job? {
        let found: Erasures.Erasure?
        do throws(BrokerError) { found = try await erasures.find(id) } catch { throw .unavailable("\(error)") }
        guard let erasure = found else { return nil }
        var job = Jobs.Job(id, "erasures")
        if await isFinished(erasure) { (job.state, job.progress, job.outcome) = ("done", 1, erasure.outcome) }
        return job
    }

    /// Whether every node has rewritten its store, and the stream is trimmed past what was written before: the person's events are
    /// nowhere then but in backups.
    private func isFinished(_ erasure: Erasures.Erasure) async -> Bool {
        let nodes = try? await members.all()
        let bounds = try? await asking.run { [jetStream, settings] () throws(BrokerError) in
            try jetStream.bounds(settings.stream)
        }
        guard let nodes, let bounds else { return false }
        return LogRetention(nodes: nodes.positions, backup: nil).isFinished(erasure.position, bounds)
    }

    /// Says from time to time how far this node has come.
    private func tell() async {
        var told: UInt64?
        var beats = 0
        while !Task.isCancelled {
            beats += 1
            let status = await status()
            // The age of its last position shows that a node is gone.
            if status.position.rawValue != told || beats % 30 == 0 {
                let member = Members.Member(
                    url: settings.advertise, position: status.position.rawValue, head: status.head,
                    at: Timestamp.now.description)
                if (try? await members.tell(member)) != nil { told = status.position.rawValue }
            }
            // Now and then: should the other one not take it, callers wait no longer than for a takeover.
            if beats % 30 == 15 { await giveBack(status) }
            try? await Task.sleep(for: Self.tellTime)
        }
    }
}
