@_spi(Operations) @_spi(Replication) import Traylog
@_spi(Operations) import TraylogAudit

/// Options of a node.
public struct NodeOptions: Sendable {
    /// Its name, which no other node has, of 1 to 256 bytes.
    public var name: String
    /// Where it takes requests, for the other nodes.
    public var url: String
    /// For its store.
    ///
    /// Ticking, compaction and durability are the node's: its log of record is durable, so that the store need not be.
    public var store = StoreOptions()
    /// The longest time that callers wait for a log of record that does not answer.
    public var timeout: Duration = .seconds(5)
    /// How often the owner looks for due events.
    public var tickInterval: Duration = .milliseconds(500)

    /// How long to let other nodes go first when there is no owner.
    ///
    /// It is called each time with the previous owner, as far as the node knows; by default there is no delay.
    ///
    /// A process with nodes of several logs uses it to spread the owners over the machines.
    public var restraint: @Sendable (_ last: Ownership?) async -> Duration = { _ in .zero }

    /// A node by its name in the cluster, and the address at which the others reach it.
    public init(name: String, url: String) {
        self.name = name
        self.url = url
    }
}

/// A store that is one of several copies of a replicated log: it decides while it is the owner, and follows otherwise.
///
/// You may call everything that ``store`` offers. Queries, observation and backups work as for any store, and are as recent
/// as the node. Calls that append an event work only on the owner. Elsewhere they fail with `notOwner` and store nothing: send
/// the command to ``NodeStatus/owner``. They fail with `unavailable` while no node can decide; the command may then have been
/// performed, which only repeating its key can tell.
///
/// ```swift
/// let options = NodeOptions(name: "a", url: "http://a:8080")
/// let node = try await ClusterNode.open("trays", options, log: log, lease: lease)
/// await node.start()
/// try await node.store.perform(.notify("ann", title: "Hello"))
/// ```
public final class ClusterNode: Sendable {
    /// The node's copy of the log.
    public let store: Store
    let options: NodeOptions
    let log: any ReplicatedLog
    let lease: any OwnershipLease
    let publisher: GroupPublisher
    let life = NodeLife()

    private init(
        _ store: Store, _ options: NodeOptions, _ log: any ReplicatedLog, _ lease: any OwnershipLease,
        _ publisher: GroupPublisher
    ) {
        (self.store, self.options, self.log, self.lease, self.publisher) = (store, options, log, lease, publisher)
    }

    /// Opens the node's store, which may be new, a copy of another node's, or one that this node left at any moment.
    ///
    /// - Parameters:
    ///   - directory: the store's.
    ///   - options: name, address and how the store is opened.
    ///   - log: the log of record.
    ///   - lease: decides which node is the owner.
    /// - Throws: ``TraylogError/failed(_:)``: as ``Store/open(_:options:)-(String,_)``; `diverged` for a store that follows
    ///   another log; `unsupported` for a store with events that follows none.
    public static func open(
        _ directory: String, _ options: NodeOptions, log: any ReplicatedLog, lease: any OwnershipLease
    ) async throws(TraylogError) -> ClusterNode {
        var storeOptions = options.store
        storeOptions.ticking = .manual
        storeOptions.compaction = nil
        storeOptions.durability = .relaxed
        let publisher = GroupPublisher(
            NodeProtocol(name: options.name, position: .start, tree: MerkleAccumulator()), log: log,
            timeout: options.timeout)
        let store = try Store.open(directory, options: storeOptions, logOfRecord: publisher)
        let node = ClusterNode(store, options, log, lease, publisher)
        do throws(TraylogError) {
            try await node.resume()
        } catch {
            await store.close()
            throw error
        }
        return node
    }

    /// Begins to follow the log, and to decide whenever it gets the lease.
    public func start() async {
        await life.start { await self.run() }
    }

    /// Gives up the lease, waits for messages in flight, and closes the store.
    public func stop() async {
        await publisher.stop()
        await life.stop()
        await yield()
        await store.close()
    }

    /// Gives up the lease, if the node has it, so that another node takes over.
    ///
    /// The log of record decides whether a group in flight counts.
    public func yield() async {
        guard let ownership = await publisher.node.ownership else { return }
        await publisher.lostLease()
        await lease.release(ownership)
    }

    /// The node as it is now.
    public func status() async -> NodeStatus {
        let node = await publisher.node
        let seen = await life.seen
        var status = NodeStatus(
            role: node.role, position: node.position, head: node.head,
            lagEvents: UInt64(seen.logHead.events(after: node.head)), lag: .zero,
            owner: node.role == .owner ? node.ownership : seen.owner, divergence: node.divergence,
            trouble: seen.trouble)
        if node.role == .catchingUp || node.role == .diverged || seen.trouble != nil {
            status.lag = ContinuousClock.now - seen.upToDate
        }
        return status
    }

    /// Waits until the store holds an event, so that callers can read their own writes on another node.
    ///
    /// - Parameter limit: the longest wait.
    /// - Returns: whether it does by then.
    /// - Throws: ``TraylogError/failed(_:)``, with `cancelled` when the task is cancelled before.
    public func wait(for seq: Seq, atMost limit: Duration = .seconds(5)) async throws(TraylogError) -> Bool {
        let deadline = ContinuousClock.now + limit
        var backoff = Backoff(from: .milliseconds(1), to: .milliseconds(20))
        while try await store.log.head() < seq {
            guard !Task.isCancelled else {
                throw .failed(
                    StoreFailure(code: .cancelled, message: "the task was cancelled while it waited for event \(seq)"))
            }
            guard ContinuousClock.now < deadline else { return false }
            try? await Task.sleep(for: backoff.pause())
        }
        return true
    }

    /// Takes over what the store says, and compares it with the log where that still has the message.
    func resume() async throws(TraylogError) {
        var (source, tree) = (try await store.sourcePosition(), try await store.proofs.treeAccumulator())
        // Of one moment: a group that was accepted may just be on its way into the store.
        while true {
            let (again, head) = (try await store.sourcePosition(), try await store.log.head())
            if again == source, head.rawValue == tree.size { break }
            (source, tree) = (again, try await store.proofs.treeAccumulator())
        }
        if let source, source.source != log.name {
            throw .failed(
                StoreFailure(
                    code: .diverged, message: "the store follows the log \(source.source), not \(log.name); use another"
                ))
        }
        guard source != nil || tree.size == 0 else {
            throw .failed(
                StoreFailure(
                    code: .unsupported,
                    message:
                        "the store holds \(tree.size) events that no log of record gave it; begin with an empty directory"
                ))
        }
        await publisher.resume(position: LogPosition(rawValue: source?.position ?? 0), tree: tree)
    }
}
