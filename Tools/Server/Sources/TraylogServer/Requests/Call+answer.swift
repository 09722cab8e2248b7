import HTTPTypes
import Hummingbird
import Traylog
import TraylogCluster

extension Call {
    /// Answers a request that its caller is allowed to make, here or by the node that decides.
    ///
    /// With partitions, the answer says whose it is.
    package nonisolated(nonsending) func answer() async throws -> Response {
        var response: Response
        do {
            response = try await answered()
        } catch {
            service.noteDamage(error)
            throw error
        }
        if let partition = service.partition { response.headers[.partition] = String(partition) }
        return response
    }

    nonisolated(nonsending) private func answered() async throws -> Response {
        if let response = try await forwarded() { return response }
        guard request.method == .get || request.method == .head else { return try await handled() }
        try await waitForWrites()
        guard service.cluster != nil else { return try await handled() }
        if let seq = try awaitedByTag(), try await store.log.head() < seq, await isBehind() {
            try await wait(for: seq)
        }
        do {
            return try await handled()
        } catch {
            // Another node has shown the client what this one does not have yet.
            let problem: any Error
            if case TraylogError.refused(let refusal) = error { problem = refusal } else { problem = error }
            guard case Refusal.upToBeyondHead(let seq, _, _) = problem else { throw error }
            guard await isBehind() else { throw error }
            try await wait(for: seq)
            return try await handled()
        }
    }

    /// Whether the client may have seen later events than this node has.
    private func isBehind() async -> Bool {
        guard let cluster = service.cluster else { return false }
        // The owner has all that anybody was shown. But offsets are never beyond the log's end by a client's fault.
        return await cluster.status().role != .owner || route.manner == .feed
    }

    /// Answers a request here, whichever node decides.
    package nonisolated(nonsending) func handled() async throws -> Response {
        if route.shows == .user {
            try await service.recordReading(of: user, by: caller, purpose: headers.text(.purpose))
        }
        // What may compute for milliseconds keeps no other connection waiting.
        guard route.isShort else {
            return try await withTaskExecutorPreference(globalConcurrentExecutor) { try await route.handler(self) }
        }
        return try await route.handler(self)
    }

    /// Asks the other nodes about a job that this node does not run.
    ///
    /// - Returns: nil where no node does.
    func answerOfAnotherNode() async -> Response? {
        guard let cluster = service.cluster, request.headers[Forwarding.mark] == nil else { return nil }
        let owner = await cluster.otherOwner(cluster.status())
        // The owner runs most of them.
        for url in await cluster.otherNodes().sorted(by: { ($0 == owner ? 0 : 1, $0) < ($1 == owner ? 0 : 1, $1) }) {
            let answer = await Deadline.abandoning(after: .seconds(3)) { () -> (Response, [UInt8]) in
                let answer = try await Forwarding.forward(self.request, to: url, body: [])
                return (answer, try await answer.wholeBody())
            }
            guard let (answer, body) = answer, answer.status == .ok else { continue }
            return .json(body)
        }
        return nil
    }

    /// Finds an erasure whose node has ended or restarted since.
    ///
    /// - Throws: ``Problem`` 503 while no broker can tell.
    func keptErasure() async throws(Problem) -> Jobs.Job? {
        for service in partitions?.services ?? [service] {
            if let erasure = try await service.cluster?.erasure(segment("id")) { return erasure }
        }
        return nil
    }

    /// Whether reading is recorded, which only the owner can do; a log that has diverged is read where it is.
    private func isRecorded(_ status: NodeStatus) -> Bool {
        guard case .key? = caller else { return false }
        return service.accessLog != nil && route.shows != .nobody && status.role != .diverged
    }

    /// The URL of the node that alone may do it; nil where this one may.
    ///
    /// - Throws: ``Problem`` 503 while no node decides.
    package func decidingNode() async throws(Problem) -> String? {
        guard let cluster = service.cluster, route.node == .owner else { return nil }
        let status = await cluster.status()
        guard status.role != .owner else { return nil }
        guard let owner = cluster.otherOwner(status) else { throw .unavailable("no node decides now; send it again") }
        return owner
    }

    /// Sends the request on to the node that decides, if that is another one.
    ///
    /// - Returns: nil for a request that this node answers itself.
    /// - Throws: ``Problem`` 503 while nobody decides and nobody is about to, or where this node must not answer.
    nonisolated(nonsending) private func forwarded() async throws -> Response? {
        guard let cluster = service.cluster else { return nil }
        var status = await cluster.status()
        if status.role == .diverged, !route.answersDiverged {
            throw Problem.unavailable(status.divergence?.description ?? "this node has diverged")
        }
        guard route.node == .owner || isRecorded(status), status.role != .owner else { return nil }
        guard request.headers[Forwarding.mark] == nil else {
            throw Problem.unavailable("this node does not decide any more; send it again")
        }
        status = try await cluster.waitForOwner()
        guard status.role != .owner else { return nil }
        guard let owner = cluster.otherOwner(status) else {
            throw Problem.unavailable(
                "no node decides now"
                    + (status.trouble.map { ": \($0)" } ?? "; one of them is about to take over. Send it again"))
        }
        let isOfLines = try headers.mediaType() == CommandRoutes.lines
        return try await Forwarding.forward(request, to: owner, body: isOfLines ? nil : wholeBody())
    }
}
