@_spi(Operations) @_spi(Replication) import Traylog
import TraylogAudit

/// A node's side of the log of record: publishes the store's groups, and finds out whether they were accepted.
///
/// The store's writer calls ``append(_:)`` for one group at a time and waits for it; the node's task calls everything else.
actor GroupPublisher: LogOfRecord {
    nonisolated let log: any ReplicatedLog
    private(set) var node: NodeProtocol
    /// How long to go on publishing a message that nobody answers.
    private let timeout: Duration
    /// Until when nobody else can have the lease, by this machine's clock.
    private var leaseEnd: ContinuousClock.Instant?
    private var isStopping = false
    private let idPrefix: String
    private var published: UInt64 = 0

    init(_ node: NodeProtocol, log: any ReplicatedLog, timeout: Duration) {
        self.node = node
        self.log = log
        self.timeout = timeout
        // Different in every run of every node.
        idPrefix = "\(node.name)/\(String(UInt64.random(in: .min ... .max), radix: 36))/"
    }

    nonisolated var largestGroupBytes: Int { EventGroup.largestRecordBytes(inBodyOf: log.largestBody) }

    // MARK: For the store's writer

    func append(_ records: [LogRecord]) async throws(StoreFailure) -> SourcePosition {
        let message = try node.propose(records, id: nextID())
        return try await publish(message)
    }

    func confirmEnd(at head: Seq) async throws(StoreFailure) {
        try node.checkOwning()
        guard let leaseEnd, ContinuousClock.now < leaseEnd else {
            node.lostLease()
            throw .unavailable("\(node.name) could not renew its lease in time, and asks who has it")
        }
        let bounds: LogBounds
        do {
            bounds = try await log.bounds()
        } catch {
            throw .unavailable("the log of record does not answer: \(error)")
        }
        try node.confirm(head: head, end: bounds.last)
    }

    // MARK: Publishing

    /// Publishes a message until it is known whether it is part of the log, or nobody has answered for too long.
    private func publish(_ message: LogMessage) async throws(StoreFailure) -> SourcePosition {
        let deadline = ContinuousClock.now + timeout
        var backoff = Backoff(from: .milliseconds(10), to: .milliseconds(500))
        while true {
            let outcome = await log.publish(
                id: message.id, root: message.root, body: message.body, expecting: node.position)
            var step = node.answered(outcome)
            if case .readBack(let place) = step {
                do {
                    step = node.readBack(try await log.message(at: place))
                } catch {
                    step = .publishAgain
                }
            }
            switch step {
            case .accepted(let place): return SourcePosition(source: log.name, position: place.rawValue)
            case .refused(let failure): throw failure
            case .publishAgain, .readBack:
                guard ContinuousClock.now < deadline, !isStopping else { throw node.giveUp() }
                try? await Task.sleep(for: backoff.pause())
            }
        }
    }

    private func nextID() -> String {
        published += 1
        return idPrefix + String(published, radix: 36)
    }

    // MARK: For the node's task

    /// Publishes the message with which the node begins to own.
    ///
    /// Its place is stored with the next group's, or read again.
    func takeOver() async throws(StoreFailure) {
        _ = try await publish(try node.proposeTakeover(id: nextID()))
    }

    func took(_ ownership: Ownership, until end: ContinuousClock.Instant) {
        node.took(ownership)
        leaseEnd = end
    }

    func renewed(_ ownership: Ownership, until end: ContinuousClock.Instant) {
        node.renewed(ownership)
        leaseEnd = end
    }

    var leaseIsOver: Bool { leaseEnd.map { ContinuousClock.now >= $0 } ?? true }

    func lostLease() { node.lostLease() }

    func resume(position: LogPosition, tree: MerkleAccumulator) { node.resume(position: position, tree: tree) }

    func examine(_ message: LogMessage) { node.examine(message) }

    func receive(
        _ messages: ArraySlice<LogMessage>, after before: NodeProtocol.Batch?
    ) -> (taken: Int, batch: NodeProtocol.Batch?) {
        node.receive(messages, after: before, isAlone: \.tellsOfRewrite)
    }

    func applied(_ batch: NodeProtocol.Batch) { node.applied(batch) }

    func reached(_ bounds: LogBounds) -> Bool { node.reached(bounds) }

    func failed(toApply failure: StoreFailure) { node.failed(toApply: failure) }

    func stop() { isStopping = true }
}
