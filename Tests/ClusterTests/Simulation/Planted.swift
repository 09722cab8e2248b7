@_spi(Replication) @_spi(JSON) import Traylog
@_spi(Replication) import TraylogCluster

/// A difference between a store and the log that the simulation makes on purpose.
struct Planted {
    enum Kind: CaseIterable {
        /// In the store of a node, while the node is down.
        case store
        /// In a message where it is stored.
        case message
        /// In a message in the memory of the node that reads it.
        case memory
    }

    /// From which step on.
    let at: Int
    var kind: Kind?
    /// The event that is another one; nil as long as there is none.
    var seq: Seq?
    /// The message as it was published.
    var original: LogMessage?

    init(at time: Int) { at = time }
}

extension Simulation {
    /// Plants the difference as soon as there is something to change.
    func plant() {
        guard var planted, planted.seq == nil, time >= planted.at else { return }
        let kind = planted.kind ?? random.pick(Planted.Kind.allCases)
        planted.kind = kind
        let index = random.below(nodes.count)
        let node = nodes[index]
        let isReading = !node.isDown && node.node.flight == nil && node.node.role != .owner
        switch kind {
        case .store:
            guard !node.isDown, !node.store.records().isEmpty else { break }
            kill(index)
            if let store = node.store as? LedgerStore, store.position > .start, !store.records().isEmpty {
                let changed = random.below(store.records().count)
                store.damage(changed)
                planted.seq = Seq(UInt64(changed + 1))
            }
            restart(index)
        case .message:
            guard isReading, let message = log.message(at: node.node.position.next),
                let group = try? EventGroup(body: message.body), !group.records.isEmpty
            else { break }
            planted.original = message
            planted.seq = group.first
            let byte = random.below(message.body.count)
            log.damage(message.position) { $0.body[byte] ^= 4 }
        case .memory:
            if isReading { node.garblesNext = true }
        }
        self.planted = planted
    }

    /// Changes an event that a node has just read.
    func garble(_ node: SimulatedNode, _ messages: inout [LogMessage]) {
        guard node.garblesNext, planted?.seq == nil else { return }
        for index in messages.indices where messages[index].position > node.node.position {
            guard var group = try? EventGroup(body: messages[index].body), !group.records.isEmpty else { continue }
            let changed = random.below(group.records.count)
            group.records[changed].bytes[43] ^= 1
            messages[index].body = group.body
            planted?.seq = group.records[changed].seq
            node.garblesNext = false
            return
        }
    }
}
