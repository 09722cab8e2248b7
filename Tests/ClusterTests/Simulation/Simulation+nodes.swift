@_spi(Operations) import Traylog
import TraylogCluster

// The steps of a node, as `GroupPublisher` and `ClusterNode` take them in the product.
extension Simulation {
    func act(_ index: Int) {
        let node = nodes[index]
        guard !node.isDown, time >= node.pausedUntil else { return }
        if let mail = node.mail {
            node.mail = nil
            return settle(index, mail)
        }
        guard node.node.flight == nil else { return }
        switch node.node.role {
        case .diverged: turnAway(node)
        case .owner: own(index)
        case .follower, .catchingUp:
            turnAway(node)
            follow(index)
        }
    }

    private func turnAway(_ node: SimulatedNode) {
        for request in node.waiting { clients.answer(request, .notStored, at: log.messages.count) }
        node.waiting = []
    }

    // MARK: Owning

    private func own(_ index: Int) {
        let node = nodes[index]
        guard let ownership = node.node.ownership else { return }
        if random.chance(30), time >= node.cutUntil {
            if lease.renew(ownership, at: time) {
                node.leaseEnd = time + SimulatedLease.duration
            } else if random.chance(50) {
                return node.node.lostLease()
            }
        }
        guard !node.waiting.isEmpty else { return }
        let requests = Array(node.waiting.prefix(random.between(1, 4)))
        node.waiting.removeFirst(requests.count)
        node.deciding = requests
        do throws(StoreFailure) {
            switch node.store.decide(requests.map(\.command)) {
            case .noEvent:
                try confirm(node)
                answer(node, node.store.finish(nil))
            case .group(let records):
                let message = try node.node.propose(records, id: id(of: node))
                launch(index, message)
                if mutation == .answersBeforeTheLog, let answers = (node.store as? LedgerStore)?.decided {
                    for (request, answer) in zip(requests, answers) {
                        clients.answer(request, .result(answer), at: .max)
                    }
                }
            }
        } catch {
            node.store.drop()
            giveBack(node, error)
        }
    }

    private func confirm(_ node: SimulatedNode) throws(StoreFailure) {
        guard mutation != .answersWithoutAsking else { return }
        let isCut = time < node.cutUntil
        guard time < node.leaseEnd else {
            node.node.lostLease()
            throw StoreFailure(code: .unavailable, message: "the lease is over")
        }
        guard !isCut || !weather.leaseBreaks else { throw StoreFailure(code: .unavailable, message: "cut off") }
        try node.node.confirm(head: Seq(node.store.tree.size), end: (isCut ? node.endWhenCut : log.bounds).last)
    }

    private func id(of node: SimulatedNode) -> String {
        node.flights += 1
        return "\(node.name)/\(node.flights)"
    }

    private func launch(_ index: Int, _ message: LogMessage) {
        let node = nodes[index]
        network.append(
            Delivery(
                node: index, flight: node.flights, message: message, expecting: node.node.position, wantsAnswer: true))
    }

    private func answer(_ node: SimulatedNode, _ answers: Answers) {
        for (request, answer) in zip(node.deciding, answers) {
            clients.answer(request, .result(answer), at: log.messages.count)
        }
        node.deciding = []
    }

    private func giveBack(_ node: SimulatedNode, _ failure: StoreFailure) {
        for request in node.deciding {
            clients.answer(request, failure.code == .notOwner ? .notStored : .unknown, at: log.messages.count)
        }
        node.deciding = []
    }

    /// Looks at the log's answer to the message in flight.
    private func settle(_ index: Int, _ outcome: PublishOutcome) {
        let node = nodes[index]
        guard let flight = node.node.flight else { return }
        var outcome = outcome
        if mutation == .ignoresTheFence, case .wrongPosition = outcome {
            outcome = .accepted(at: flight.message.position, isDuplicate: false)
        }
        var step = node.node.answered(outcome)
        if case .readBack(let place) = step {
            step = node.node.readBack(time < node.cutUntil ? nil : log.message(at: place))
        }
        switch step {
        case .accepted(let position): commit(index, position)
        case .refused(let failure): drop(node, failure)
        case .publishAgain, .readBack: publishAgain(index, flight.message)
        }
    }

    private func publishAgain(_ index: Int, _ message: LogMessage) {
        let node = nodes[index]
        if mutation == .takesUnknownForLost {
            _ = node.node.giveUp()
            return drop(node, StoreFailure(code: .notOwner, message: ""))
        }
        if random.chance(15) { return drop(node, node.node.giveUp()) }
        guard mutation == .publishesAgainElsewhere else { return launch(index, message) }
        var other = message
        other.id += "'"
        network.append(
            Delivery(node: index, flight: node.flights, message: other, expecting: log.last, wantsAnswer: true))
    }

    private func drop(_ node: SimulatedNode, _ failure: StoreFailure) {
        guard !node.deciding.isEmpty else { return release(node) }
        node.store.drop()
        giveBack(node, failure)
    }

    /// The takeover failed: let others have the lease meanwhile.
    private func release(_ node: SimulatedNode) {
        if let ownership = node.node.ownership { lease.release(ownership) }
        node.node.lostLease()
    }

    private func commit(_ index: Int, _ position: LogPosition) {
        let node = nodes[index]
        guard !node.deciding.isEmpty else { return }
        if random.chance(weather.killed) { return kill(index) }
        if random.chance(weather.killed) {
            // The disk fails: the log has events that the store lacks.
            node.store.drop()
            return giveBack(node, StoreFailure(code: .inputOutput, message: "the disk failed"))
        }
        let answers = node.store.finish(position)
        if random.chance(weather.killed) { return kill(index) }
        answer(node, answers)
    }

    // MARK: Following

    private func follow(_ index: Int) {
        let node = nodes[index]
        guard time >= node.cutUntil else { return }
        let (position, tree) = (node.store.position, node.store.tree)
        if node.node.position != position || node.node.tree.size != tree.size, mutation != .forgetsThePosition {
            node.node.resume(position: position, tree: tree)
        }
        var messages = Array(log.messages(after: node.node.position, limit: random.between(1, 6)))
        garble(node, &messages)
        if mutation == .comparesNoRoots { forgeRoots(node, &messages) }
        guard !messages.isEmpty else { return lead(index) }
        // Some are looked at while those before them are still on their way into the store.
        let cut = random.chance(50) ? messages.count : random.between(1, messages.count)
        guard let first = node.node.receive(messages[..<cut]).batch else { return }
        let second = cut < messages.count ? node.node.receive(messages[cut...], after: first).batch : nil
        let batches = [first, second].compactMap(\.self).map { batch in
            (batch, node.store.prepare(batch.records, after: batch.headBefore, position: batch.position))
        }
        for (batch, rest) in batches where !apply(batch, rest, index) { return }
    }

    /// - Parameter rest: of what the store does with it.
    /// - Returns: false where the batch did not get into the store.
    private func apply(_ batch: NodeProtocol.Batch, _ rest: () throws -> Void, _ index: Int) -> Bool {
        let node = nodes[index]
        guard !random.chance(weather.killed) else {
            kill(index)
            return false
        }
        do {
            try rest()
        } catch {
            let failure = error as? StoreFailure ?? StoreFailure(code: .damaged, message: "\(error)")
            node.node.failed(toApply: failure)
            return false
        }
        guard !random.chance(weather.killed) else {
            kill(index)
            return false
        }
        node.node.applied(batch)
        return true
    }

    /// At the end of the log: own it, if nobody does.
    private func lead(_ index: Int) {
        let node = nodes[index]
        guard node.node.reached(log.bounds), random.chance(50) else { return }
        guard let ownership = lease.acquire(node.name, at: time) else { return }
        node.leaseEnd = time + SimulatedLease.duration
        node.node.took(ownership)
        do throws(StoreFailure) {
            launch(index, try node.node.proposeTakeover(id: id(of: node)))
        } catch {
            release(node)
        }
    }

    /// A node that compares nothing believes every root.
    private func forgeRoots(_ node: SimulatedNode, _ messages: inout [LogMessage]) {
        var tree = node.node.tree
        for index in messages.indices {
            guard var group = try? EventGroup(body: messages[index].body) else { return }
            messages[index].root = tree.head.root
            for record in group.records { try? tree.append(record) }
            group.root = tree.head.root
            messages[index].body = group.body
        }
    }
}
