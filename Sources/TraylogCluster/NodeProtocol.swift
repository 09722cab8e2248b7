@_spi(Operations) @_spi(Replication) import Traylog
import TraylogAudit

/// The protocol: one node's knowledge of the log of record, and its next steps.
///
/// It has no clock, no disk and no network, so a simulation can take it through every history.
///
/// ```text
/// catchingUp ─── the end ──► follower ─── lease, the end, takeover accepted ──► owner
///      ▲                         │                                               │
///      └── a group was lost ─────┴──── fenced, lease lost, outcome unknown ◄─────┘
/// any ─── another root, a gap, bytes that are no group ──► diverged, permanently
///
/// owner: propose ─► publish ─► unknown: the same again     ┐
///                              wrong place: read it        ├─► accepted ─► the store commits ─► answers
///                              another's stands there: fenced
/// ```
package struct NodeProtocol: Sendable {
    /// A message on its way to the log.
    package struct Flight: Sendable {
        package let message: LogMessage
        /// The tree after its events.
        let tree: MerkleAccumulator
        /// Nobody knows about an earlier attempt: it may still arrive.
        var isUncertain = false
    }

    /// The next step for the message in flight.
    package enum Step: Sendable {
        /// It is part of the log: make it part of the store.
        case accepted(LogPosition)
        /// Publish the same message once more.
        case publishAgain
        /// Read what stands at the place.
        case readBack(LogPosition)
        /// It is not part of the log, and never will be.
        case refused(StoreFailure)
    }

    /// Whole groups that the store has to apply as one transaction.
    package struct Batch: Sendable {
        package var records: [LogRecord] = []
        package var position: LogPosition
        /// It has one record, which needs a transaction of its own.
        package fileprivate(set) var standsAlone = false
        fileprivate var tree: MerkleAccumulator
        fileprivate var agreed: Seq

        /// The event that its first one follows.
        package var headBefore: Seq { Seq(tree.size - UInt64(records.count)) }
    }

    package let name: String
    /// Records that one transaction applies at most, unless one group has more.
    static let recordsPerBatch = 5_000

    package private(set) var role = NodeRole.catchingUp
    /// The last message that the store holds; while a group is accepted and not yet committed, that one.
    package private(set) var position: LogPosition
    /// The tree over the log through the same message.
    package private(set) var tree: MerkleAccumulator
    package private(set) var ownership: Ownership?
    package private(set) var flight: Flight?
    package private(set) var divergence: Divergence?
    /// The newest event at which the root was the one of a message.
    private var agreed = Seq.zero

    /// - Parameters:
    ///   - name: of the node.
    ///   - position: the store's, in the log.
    ///   - tree: over the store's log.
    package init(name: String, position: LogPosition, tree: MerkleAccumulator) {
        self.name = name
        self.position = position
        self.tree = tree
    }

    package var head: Seq { Seq(tree.size) }

    // MARK: Owning

    /// The message with which the node begins to own: no events.
    package mutating func proposeTakeover(id: String) throws(StoreFailure) -> LogMessage {
        guard role == .follower, ownership != nil, flight == nil else {
            throw .unavailable("\(name) has not the lease")
        }
        return begin([], id: id, tree: tree)
    }

    /// The message for events that the store has decided.
    ///
    /// - Throws: `notOwner`, or `unavailable` if the store lacks events of the log.
    package mutating func propose(_ records: [LogRecord], id: String) throws(StoreFailure) -> LogMessage {
        try checkOwning()
        try checkComplete(records[0].seq - 1)
        var tree = tree
        do {
            for record in records { try tree.append(record) }
        } catch {
            throw .unavailable(error.description)
        }
        return begin(records, id: id, tree: tree)
    }

    /// Whether the node may answer commands that append no event from its store, given the end of the log.
    package mutating func confirm(head: Seq, end: LogPosition) throws(StoreFailure) {
        try checkOwning()
        try checkComplete(head)
        guard end == position else {
            fall()
            throw .fenced(name)
        }
    }

    /// A group that the log has may not have got into the store, whose disk failed.
    private mutating func checkComplete(_ storeHead: Seq) throws(StoreFailure) {
        guard storeHead == head else {
            fall()
            throw .unavailable("\(name) lacks events that the log of record has, and reads them")
        }
    }

    package func checkOwning() throws(StoreFailure) {
        switch role {
        case .owner where flight == nil: return
        case .diverged: throw .unavailable(divergence?.description ?? "")
        case .catchingUp: throw .unavailable("\(name) is catching up with the log of record")
        default: throw .notOwner(name)
        }
    }

    private mutating func begin(_ records: [LogRecord], id: String, tree: MerkleAccumulator) -> LogMessage {
        let group = EventGroup(
            epoch: ownership?.epoch ?? 0, owner: name, root: tree.head.root, first: head + 1, records: records)
        let message = LogMessage(position: position.next, id: id, root: self.tree.head.root, body: group.body)
        flight = Flight(message: message, tree: tree)
        return message
    }

    /// Takes note of the log's answer.
    package mutating func answered(_ outcome: PublishOutcome) -> Step {
        guard let flight else { preconditionFailure("an answer is to a message in flight") }
        switch outcome {
        case .accepted(let place, _) where place == flight.message.position:
            return accept(flight)
        case .accepted(let place, _):
            self.flight = nil
            return .refused(
                stop("the log took a group at \(place) that was to stand at \(flight.message.position), or nowhere"))
        case .unknown:
            self.flight?.isUncertain = true
            return .publishAgain
        case .wrongPosition:
            return .readBack(flight.message.position)
        case .rejected(let reason):
            // An attempt before this one may have got through.
            if flight.isUncertain { return .publishAgain }
            self.flight = nil
            return .refused(.unavailable("the log of record does not take events: \(reason)"))
        }
    }

    /// Takes note of what stands at the place of the message in flight; nil when nothing does that can be read.
    package mutating func readBack(_ found: LogMessage?) -> Step {
        guard let flight else { preconditionFailure("what is read is about a message in flight") }
        guard let found else { return .publishAgain }
        if found.id == flight.message.id { return accept(flight) }
        self.flight = nil
        fall()
        return .refused(.fenced(name))
    }

    /// Stops waiting for the log.
    ///
    /// The message may stand there, now or later.
    package mutating func giveUp() -> StoreFailure {
        flight = nil
        fall()
        return .unavailable(
            "the log of record does not answer, so it is unknown whether the commands were performed")
    }

    private mutating func accept(_ flight: Flight) -> Step {
        let isTakeover = flight.tree.size == tree.size
        (tree, position, self.flight) = (flight.tree, flight.message.position, nil)
        if isTakeover, ownership != nil, role == .follower { role = .owner }
        return .accepted(position)
    }

    // MARK: Following

    /// Takes over what the store holds: at the start, and whenever the node begins to catch up.
    package mutating func resume(position: LogPosition, tree: MerkleAccumulator) {
        (self.position, self.tree) = (position, tree)
    }

    /// Compares the message at the store's position with the store, so that a node whose store was changed elsewhere does
    /// not become the owner.
    package mutating func examine(_ message: LogMessage) {
        do throws(DamagedGroup) {
            let group = try EventGroup(body: message.body)
            if group.last == head, group.root == tree.head.root {
                agreed = head
            } else {
                stop(
                    "message \(message.position) of the log is the newest one that this store holds, but has another end"
                )
            }
        } catch {
            stop("message \(message.position) of the log, the newest one that this store holds, is damaged: \(error)")
        }
    }

    /// Looks at messages, and says what the store has to apply.
    ///
    /// - Parameters:
    ///   - messages: in order, from any place on.
    ///   - before: a batch that is on its way into the store; nil where none is.
    ///   - isAlone: whether a record needs a transaction of its own.
    /// - Returns: how many of the messages were looked at, and the batch; none where they bring nothing new, or where the
    ///   node has stopped.
    package mutating func receive(
        _ messages: ArraySlice<LogMessage>, after before: Batch? = nil, isAlone: (LogRecord) -> Bool = { _ in false }
    ) -> (taken: Int, batch: Batch?) {
        precondition(flight == nil, "what a node publishes is settled before it reads on")
        let start = before?.position ?? position
        var batch = Batch(position: start, tree: before?.tree ?? tree, agreed: before?.agreed ?? agreed)
        var taken = 0
        for message in messages {
            guard role != .diverged else { return (taken, nil) }
            if message.position <= batch.position {
                taken += 1
                continue
            }
            guard let group = check(message, after: batch) else { return (taken, nil) }
            let standsAlone = group.records.contains(where: isAlone)
            let isFull = batch.records.count + group.records.count > NodeProtocol.recordsPerBatch
            if !batch.records.isEmpty, standsAlone || isFull { break }
            let before = batch
            do {
                for record in group.records { try batch.tree.append(record) }
            } catch {
                stop(
                    "the log's message \(message.position) has a record that cannot be read: \(error)", group.last,
                    before)
                return (taken, nil)
            }
            guard batch.tree.head.root == group.root else {
                stop(
                    "with the events of message \(message.position) the tree has the root \(batch.tree.head.root) here, and "
                        + "\(group.root) for \(group.owner)", group.last, before)
                return (taken, nil)
            }
            batch.agreed = group.last
            batch.position = message.position
            batch.records += group.records
            taken += 1
            batch.standsAlone = standsAlone
            if standsAlone { break }
        }
        return (taken, batch.position > start ? batch : nil)
    }

    /// - Returns: nil where the message does not continue what the batch holds: the node has stopped.
    private mutating func check(_ message: LogMessage, after batch: Batch) -> EventGroup? {
        let head = Seq(batch.tree.size)
        guard message.position == batch.position.next else {
            stop("the log's message \(message.position) came where \(batch.position.next) comes next", head, batch)
            return nil
        }
        guard message.root == batch.tree.head.root else {
            stop(
                "the tree through event \(head) has the root \(batch.tree.head.root) here, and \(message.root) for the owner "
                    + "who published message \(message.position)", head, batch)
            return nil
        }
        do throws(DamagedGroup) {
            let group = try EventGroup(body: message.body)
            guard group.first == head + 1 else {
                stop("the log's message \(message.position) begins with event \(group.first)", head + 1, batch)
                return nil
            }
            return group
        } catch {
            stop("the log's message \(message.position) is damaged: \(error)", head + 1, batch)
            return nil
        }
    }

    /// The store holds a batch.
    package mutating func applied(_ batch: Batch) {
        (position, tree, agreed) = (batch.position, batch.tree, batch.agreed)
    }

    /// The node knows the end of the log.
    ///
    /// - Returns: whether the node is there.
    package mutating func reached(_ bounds: LogBounds) -> Bool {
        guard role != .diverged, role != .owner else { return false }
        if bounds.last < position {
            stop(
                "the log of record ends with message \(bounds.last), and this node holds \(position): the log lost some"
            )
        } else if bounds.first > position.next {
            stop(
                "the log of record begins with message \(bounds.first), and \(position.next) comes next here; begin "
                    + "this node's store with a copy of another's (--seed)")
        } else if bounds.last == position {
            role = .follower
            return true
        }
        return false
    }

    // MARK: Lease and end

    /// The lease is the node's; it owns after ``proposeTakeover(id:)``.
    package mutating func took(_ ownership: Ownership) {
        guard role != .diverged else { return }
        self.ownership = ownership
    }

    /// The node keeps the lease for another while.
    package mutating func renewed(_ ownership: Ownership) {
        if self.ownership != nil { self.ownership = ownership }
    }

    /// The lease is not the node's any more.
    ///
    /// What is in flight goes on: whether it counts is the log's to say.
    package mutating func lostLease() { fall() }

    /// The node is not the owner, and looks at the log before it says that it is up to date.
    private mutating func fall() {
        ownership = nil
        if role != .diverged { role = .catchingUp }
    }

    /// The store could not apply what the log has.
    package mutating func failed(toApply failure: StoreFailure) { stop(failure.message) }

    /// - Parameters:
    ///   - seq: the last event that may be another one; the head when nil.
    ///   - batch: what was compared so far, beside what the store holds.
    @discardableResult
    private mutating func stop(_ reason: String, _ seq: Seq? = nil, _ batch: Batch? = nil) -> StoreFailure {
        ownership = nil
        role = .diverged
        divergence = Divergence(seq: seq ?? head, agreed: batch?.agreed ?? agreed, reason: reason)
        return .unavailable(divergence?.description ?? reason)
    }
}

extension StoreFailure {
    static func unavailable(_ message: String) -> StoreFailure { StoreFailure(code: .unavailable, message: message) }

    static func notOwner(_ name: String) -> StoreFailure {
        StoreFailure(code: .notOwner, message: "\(name) is not the owner; send the commands to the node that is")
    }

    static func fenced(_ name: String) -> StoreFailure {
        StoreFailure(
            code: .notOwner,
            message: "\(name) is not the owner any more, and nothing was stored; send the commands to the node that is")
    }
}
