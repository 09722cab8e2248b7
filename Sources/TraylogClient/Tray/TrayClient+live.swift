@_spi(Operations) @_spi(Wire) import TraylogDomain

extension TrayClient {
    // MARK: Status

    /// The client's state relative to the server.
    public var status: TrayStatus {
        if activity == .erased { return .erased }
        if isClosed { return .offline }
        if meta?.isInconsistent == true { return .inconsistent }
        if outbox.here({ !$0.isOnline || $0.isStopped }) { return .offline }
        switch activity {
        case .authenticationRequired, .reloading, .failing: return activity
        default: break
        }
        let isBusy = refreshing != nil || outbox.here { $0.hasPending } || marks.contains { $0.receipt != nil }
        guard let meta, lastError == nil, !isBusy else {
            return .syncing
        }
        return .upToDate(through: meta.through)
    }

    func setActivity(_ activity: TrayStatus) {
        self.activity = activity
        updateStatus()
    }

    func updateStatus() {
        let status = status
        guard status != toldStatus else { return }
        toldStatus = status
        statusListeners.tell(status)
        tellTray()
    }

    // MARK: Live

    /// Follows the server, or stops to.
    ///
    /// ```swift
    /// await client.setLive(false)
    /// ```
    public func setLive(_ isOn: Bool) {
        wantsLive = isOn
        if isOn {
            startLive()
        } else {
            live?.cancel()
            (live, isLive) = (nil, false)
        }
    }

    func startLive() {
        guard wantsLive, live == nil, !isClosed, mayAsk, confirmed != nil, !isMoving, reloading == nil else { return }
        live = Task { [weak self] in await self?.runLive() }
    }

    private func runLive() async {
        var backoff = Backoff(from: .seconds(1), to: .seconds(5))
        while wantsLive, !Task.isCancelled, mayAsk {
            let began = clock.uptime
            var asked: Int64 = 0
            do throws(ClientError) {
                let isEnded = try await follow()
                // A stream that the server ends early is not reopened at once.
                guard isEnded || clock.uptime - began < 1_000 else {
                    backoff.reset()
                    continue
                }
            } catch {
                guard !Task.isCancelled, !isClosed else { return }
                isLive = false
                doubt()
                guard activity != .erased else { return }
                if clock.uptime - began > 30_000 { backoff.reset() }
                let isOver = error.group == .authentication || error.isOffline
                if isOver { live = nil }
                lastError = error
                asked = error.askedMilliseconds
                failed(live: error, again: backoff.failures > 0)
                guard !isOver else { return }
            }
            guard !Task.isCancelled, !isClosed else { return }
            isLive = false
            let wait = max(backoff.pause().milliseconds, asked)
            guard (try? await clock.sleep(until: clock.uptime + wait)) != nil else { return }
        }
        if !Task.isCancelled { live = nil }
    }

    /// - Parameter again: the connection before this one broke, too.
    private func failed(live error: ClientError, again: Bool) {
        if error.group == .authentication || error.isOffline {
            failed(error)
        } else {
            // A stream that breaks once is reopened without a report.
            setActivity(error.group == .connectivity && !again ? .syncing : .failing)
        }
    }

    /// One connection, until the server or the network ends it.
    ///
    /// - Returns: whether the server ended it for a reason.
    private func follow() async throws(ClientError) -> Bool {
        guard let offset = meta?.offset else { return true }
        let replicas = replicas
        var request = ServiceRequest("GET", "\(path)/changes?offset=\(PercentEncoding.encode(offset))&live=sse")
        request.headers["Accept"] = "text/event-stream"
        let stream: ServiceStream
        do throws(ClientError) {
            stream = try await session.open(request)
        } catch {
            guard replicas == self.replicas else { return true }
            try await recover(from: error)
            return false
        }
        var parser = EventStream()
        var events: [[UInt8]] = []
        do {
            for try await chunk in stream.chunks {
                for message in try parser.take(chunk) {
                    // Events for a replica that has been replaced are ignored.
                    guard !isClosed, !Task.isCancelled, replicas == self.replicas else { return false }
                    switch message.event {
                    case "data": events = try WireObject.elements(message.data)
                    case "control":
                        try await take(control: message.data, events)
                        events = []
                    case "end": return try ended(message.data)
                    default: break
                    }
                }
            }
            return false
        } catch let error as ClientError {
            throw error
        } catch let error as ServiceFailure {
            throw ClientError(error)
        } catch {
            throw ClientError(ServiceFailure.interrupted("\(error)"))
        }
    }

    /// The server ends the stream, and says why.
    private func ended(_ data: [UInt8]) throws -> Bool {
        switch try WireObject(data).string(maybe: "reason") {
        case "erased":
            erase()
            throw ClientError.erased
        case "tokenExpired", "keyRemoved", "tokenRevoked":
            // The next request shows the outcome.
            session.renewToken()
            return true
        case nil: return false
        default: return true
        }
    }

    private func take(control text: [UInt8], _ events: [[UInt8]]) async throws {
        let control = try WireObject(text)
        guard try await take(events, control.string("streamNextOffset")) else { return }
        entityTag = nil
        guard try control.boolean(maybe: "upToDate") == true else { return }
        isLive = true
        lastError = nil
        confirmedAt = clock.uptime
        if activity == .failing || activity == .reloading { activity = .syncing }
        updateStatus()
        // A stream goes on for hours, and witnesses see the log once a minute.
        if policy != nil, clock.uptime - (witnessedAt ?? 0) >= 60_000 { startRefresh() }
    }

    // MARK: Polling

    /// Polls the server while it is not followed.
    ///
    /// ```swift
    /// print("asks every \(await client.poll(everySeconds: 300)) seconds")
    /// ```
    ///
    /// - Parameter seconds: raised to ``TrayClientOptions/shortestPollSeconds``, a day at most; 0 or less ends it. A second call
    ///   replaces the first.
    /// - Returns: the interval in force.
    @discardableResult
    public func poll(everySeconds seconds: Int) -> Int {
        polling?.cancel()
        guard seconds > 0, !isClosed else {
            (polling, pollSeconds) = (nil, nil)
            return 0
        }
        let interval = min(max(seconds, options.shortestPollSeconds), 86_400)
        pollSeconds = interval
        let clock = clock
        polling = Task { [weak self] in
            while (try? await clock.sleep(until: clock.uptime + Int64(interval) * 1_000)) != nil {
                await self?.pollNow()
            }
        }
        return interval
    }

    private func pollNow() {
        if !isLive { refresh(.idle) }
    }

    // MARK: Connection

    /// Works without the server until it is called with false.
    ///
    /// ```swift
    /// await client.setOffline(true)
    /// ```
    public func setOffline(_ isOffline: Bool) {
        outbox.here { $0.setOffline(isOffline) }
        updateStatus()
    }

    /// What ``wait(for:seconds:)`` waits for.
    public enum Goal: String, Hashable, Sendable, Codable {
        /// Nothing is pending.
        case idle
        /// Nothing is pending, and the replica is complete through the server's head.
        case synced
    }

    /// Waits until a goal is reached.
    ///
    /// ```swift
    /// if await client.wait(for: .synced, seconds: 10) { print("up to date") }
    /// ```
    ///
    /// - Parameter seconds: what is negative or no number counts as 0.
    /// - Returns: false when the time ran out.
    public func wait(for goal: Goal, seconds: Double) async -> Bool {
        let span = WireSeconds(min(seconds, 1e9))?.clamped(to: .zero ... .seconds(1_000_000_000)) ?? .zero
        let deadline = clock.uptime + span.milliseconds
        var asking: Task<Bool, Never>?
        defer { asking?.cancel() }
        var answered = Answered()
        var nextQuestion: Int64 = 0
        while !isClosed {
            if !outbox.here({ $0.hasPending }) {
                if goal == .idle || answered.isComplete { return true }
                if asking == nil, refreshing == nil, mayAsk, clock.uptime >= nextQuestion {
                    // An error is no reason to hurry.
                    nextQuestion = clock.uptime + 500
                    let flag = answered
                    asking = Task { [weak self] in
                        let isDone = (try? await self?.bringUpToDate()) != nil
                        flag.finish(isDone)
                        return isDone
                    }
                } else if answered.hasFailed {
                    asking = nil
                    answered = Answered()
                }
            } else if asking != nil {
                asking?.cancel()
                asking = nil
                answered = Answered()
            }
            guard clock.uptime < deadline else { return false }
            guard (try? await clock.sleep(until: min(clock.uptime + 20, deadline))) != nil else { return false }
        }
        return goal == .idle && outbox.here { !$0.hasPending }
    }
}
