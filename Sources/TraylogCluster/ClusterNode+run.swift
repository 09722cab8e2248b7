@_spi(Replication) @_spi(JSON) import Traylog

extension ClusterNode {
    /// How long a follower asks the log for the next message, and how long it pauses after a failure.
    private static let followWait = Duration.milliseconds(500)
    private static let messagesPerRead = 512

    /// The node's life: one step after the other, until it is stopped or has diverged.
    func run() async {
        var isExamined = false
        while !Task.isCancelled {
            do {
                if !isExamined { isExamined = try await examine() }
                switch await publisher.node.role {
                case .owner: await own()
                case .follower, .catchingUp: try await follow()
                case .diverged: return
                }
                await life.note(trouble: nil)
            } catch {
                // It was stopped, and its call reports that.
                guard !Task.isCancelled else { return }
                await life.note(trouble: "\(error)")
                try? await Task.sleep(for: ClusterNode.followWait)
            }
        }
    }

    /// Compares the newest message that the store holds with the store.
    ///
    /// - Returns: true: it was done.
    private func examine() async throws -> Bool {
        let position = await publisher.node.position
        if position > .start, let message = try await log.message(at: position) { await publisher.examine(message) }
        return true
    }

    // MARK: Following

    /// Reads on from the store's position; at the end of the log it tries to become the owner when nobody is.
    private func follow() async throws {
        guard await publisher.node.flight == nil else {
            // A group of this node's own is not settled.
            try await Task.sleep(for: .milliseconds(20))
            return
        }
        try await alignWithStore()
        let isAtEnd = await publisher.node.role == .follower
        var messages = try await log.messages(
            after: publisher.node.position, limit: ClusterNode.messagesPerRead,
            wait: isAtEnd ? ClusterNode.followWait : .zero)
        while !isAtEnd, let last = messages.last {
            // The next messages come while these are applied.
            async let next = log.messages(after: last.position, limit: ClusterNode.messagesPerRead, wait: .zero)
            try await apply(messages)
            await noteLogHead(in: messages)
            guard await publisher.node.position == last.position, !Task.isCancelled else { return }
            messages = try await next
        }
        try await apply(messages)
        let bounds = try await log.bounds()
        guard await publisher.reached(bounds) else { return }
        await life.noteUpToDate(head: publisher.node.head)
        try await tryToOwn()
    }

    /// A group that the log has may have failed to get into the store.
    private func alignWithStore() async throws {
        let (head, position) = (try await store.log.head(), try await store.sourcePosition()?.position ?? 0)
        let node = await publisher.node
        guard node.head != head || node.position.rawValue != position else { return }
        try await resume()
    }

    /// Brings messages into the store.
    ///
    /// Three batches are under way: one is compared with the tree, one is decoded, and one is with the store's writer.
    private func apply(_ messages: [LogMessage]) async throws {
        var rest = messages[...]
        var underWay: [Application] = []
        do {
            while !rest.isEmpty, !Task.isCancelled {
                let newest = underWay.last?.batch
                let (taken, batch) = await publisher.receive(rest, after: newest)
                guard let batch else { break }
                rest = rest.dropFirst(taken)
                // A rewrite is no transaction of the writer: it comes after all before it, and before all after it.
                let room = batch.standsAlone || newest?.standsAlone == true ? 0 : 1
                while underWay.count > room { try await finish(&underWay) }
                underWay.append(begin(batch, after: underWay.last))
            }
            while !underWay.isEmpty { try await finish(&underWay) }
        } catch {
            // Those after a batch that failed fail, too.
            for application in underWay { _ = await application.outcome.result }
            throw error
        }
    }

    /// A batch on its way into the store.
    private struct Application {
        let batch: NodeProtocol.Batch
        let outcome: Task<Void, any Error>
    }

    private func begin(_ batch: NodeProtocol.Batch, after before: Application?) -> Application {
        let source = SourcePosition(source: log.name, position: batch.position.rawValue)
        let outcome = Task { [store] in
            let apply = store.prepareToApply(batch.records, expecting: batch.headBefore, source: source)
            try await before?.outcome.value
            _ = try await apply()
        }
        return Application(batch: batch, outcome: outcome)
    }

    /// Waits for the oldest one.
    private func finish(_ underWay: inout [Application]) async throws {
        let oldest = underWay.removeFirst()
        do {
            try await oldest.outcome.value
        } catch {
            guard case TraylogError.failed(let failure) = error, failure.code.isOfTheLog else { throw error }
            await publisher.failed(toApply: failure)
            throw error
        }
        await publisher.applied(oldest.batch)
    }

    private func noteLogHead(in messages: [LogMessage]) async {
        guard let last = messages.last, let group = try? EventGroup(body: last.body) else { return }
        await life.note(logHead: group.last)
    }

    // MARK: Owning

    /// Takes the lease if nobody has it; then publishes the message with which the node begins to own.
    private func tryToOwn() async throws {
        if let current = await lease.current(), current.node != options.name {
            return await life.note(owner: current)
        }
        let restraint = await options.restraint(life.seen.owner)
        if restraint > .zero {
            try await Task.sleep(for: restraint)
            if let current = await lease.current() { return await life.note(owner: current) }
        }
        let begin = ContinuousClock.now
        guard let ownership = await lease.acquire(node: options.name, url: options.url) else {
            return await life.note(owner: await lease.current())
        }
        await publisher.took(ownership, until: begin + lease.duration)
        await life.note(owner: ownership)
        do {
            try await publisher.takeOver()
        } catch {
            // Another node published: read on, and leave the lease to others meanwhile.
            await publisher.lostLease()
            await lease.release(ownership)
            throw error
        }
    }

    /// Renews the lease and looks for what is due, as long as the node owns.
    private func own() async {
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await self.keepLease() }
            tasks.addTask { await self.keepTicking() }
            await tasks.next()
            tasks.cancelAll()
        }
    }

    private var isOwner: Bool {
        get async { await publisher.node.role == .owner }
    }

    private func keepLease() async {
        while await isOwner {
            let isKept = await renew()
            guard isKept, !Task.isCancelled else { return }
            await life.noteUpToDate(head: publisher.node.head)
            try? await Task.sleep(for: lease.duration / 5)
        }
    }

    private func keepTicking() async {
        while await isOwner {
            do {
                try await store.tick()
                await life.note(trouble: nil)
            } catch {
                guard !Task.isCancelled else { return }
                await life.note(trouble: "\(error)")
            }
            guard !Task.isCancelled else { return }
            try? await Task.sleep(for: options.tickInterval)
        }
    }

    /// - Returns: false when the lease is lost.
    private func renew() async -> Bool {
        guard let ownership = await publisher.node.ownership else { return false }
        let begin = ContinuousClock.now
        if let renewed = await lease.renew(ownership) {
            await publisher.renewed(renewed, until: begin + lease.duration)
            return true
        }
        let current = await lease.current()
        let isTaken = current.map { $0.node != options.name } ?? false
        let isOver = await publisher.leaseIsOver
        guard isTaken || isOver else { return true }
        await publisher.lostLease()
        await life.note(owner: current)
        return false
    }
}

extension StoreFailure.Code {
    /// Trying again cannot help: the log and the store do not fit.
    fileprivate var isOfTheLog: Bool {
        switch self {
        case .diverged, .damaged, .unsupported, .newerFormat: true
        default: false
        }
    }
}
