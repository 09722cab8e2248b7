@_spi(Wire) import TraylogDomain

// The order and times of sending. Everything here runs on the outbox's thread, and waits only for the transport and the clock.

extension Outbox {
    /// Whether anything may be sent now.
    private var maySend: Bool { isOnline && !isStopped && !isClosed }

    /// Begins with the first entry of each lane that is free.
    func pump() {
        guard maySend else { return }
        for name in state.laneNames {
            let lane = lanes[name, default: Lane()]
            guard lane.entry == nil, !lane.awaitsCredentials, let entry = state.first(of: name) else { continue }
            begin(entry)
        }
    }

    /// Sends an entry, the first time or again.
    ///
    /// The attempt is stored before anything leaves the device.
    private func begin(_ entry: OutboxEntry) {
        do throws(DeviceFailure) {
            try record(.attempted(id: entry.id, attempts: entry.attempts + 1))
        } catch {
            observer?(.storageFailed(error))
            return wait(entry.lane, entry.id, milliseconds: options.retryMilliseconds)
        }
        var lane = lanes[entry.lane] ?? Lane()
        lane.attempt += 1
        (lane.entry, lane.isWaiting, lane.mayHaveArrived) = (entry.id, false, entry.mayHaveArrived)
        let attempt = lane.attempt
        lane.task = Task { [weak self] in await self?.run(entry.id, entry.lane, attempt) }
        lanes[entry.lane] = lane
        tell(entry.id)
    }

    private func isCurrent(_ lane: String, _ attempt: Int) -> Bool {
        !isClosed && lanes[lane]?.attempt == attempt && lanes[lane]?.entry != nil
    }

    private func run(_ id: String, _ lane: String, _ attempt: Int) async {
        do throws(OutboxFailure) {
            if let entry = state.entries[id], entry.attachment != nil, entry.attachment?.location == nil {
                let location = try await transport.upload(entry, file: files.path(of: id)) { [weak self] fraction in
                    Task { await self?.progressed(id, lane, attempt, fraction) }
                }
                guard isCurrent(lane, attempt) else { return }
                try? record(.uploaded(id: id, location: location))
                tell(id)
            }
            guard isCurrent(lane, attempt), let entry = state.entries[id] else { return }
            let receipt = try await transport.send(entry)
            guard isCurrent(lane, attempt) else { return }
            reached()
            finish(id, lane, .synced(id: id, receipt: receipt))
        } catch {
            guard isCurrent(lane, attempt) else { return }
            failed(id, lane, error)
        }
    }

    private func progressed(_ id: String, _ lane: String, _ attempt: Int, _ fraction: Double) {
        guard isCurrent(lane, attempt), state.entries[id]?.state == .uploading else { return }
        let fraction = min(max(fraction, state.entries[id]?.fraction ?? 0), 1)
        guard fraction > state.entries[id]?.fraction ?? 0 else { return }
        state.note(id) { $0.fraction = fraction }
        tell(id)
    }

    private func failed(_ id: String, _ lane: String, _ failure: OutboxFailure) {
        guard let entry = state.entries[id] else { return }
        switch failure {
        case .offline(let message):
            requeue(entry, attempts: entry.attempts - 1, mayHaveArrived: lanes[lane]?.mayHaveArrived ?? true)
            goOffline(ClientError(.offline(message)))
        case .unreachable(let message):
            requeue(entry, attempts: entry.attempts - 1)
            goOffline(ClientError(unreachable: message))
        case .authenticationRequired:
            reached()
            requeue(entry, attempts: entry.attempts - 1, mayHaveArrived: lanes[lane]?.mayHaveArrived ?? true)
            lanes[lane]?.awaitsCredentials = true
            observer?(.authenticationRequired)
        case .retry(let seconds, let code, let message):
            let problem = OutboxEntry.Problem(code: code, message: message, isOutcomeUnknown: true)
            guard entry.attempts <= options.retries else {
                return finish(id, lane, .failed(id: id, attempts: entry.attempts, problem))
            }
            state.note(id) { $0.problem = problem }
            let asked = WireSeconds(seconds)?.waitMilliseconds ?? 0
            wait(lane, id, milliseconds: max(options.retryMilliseconds, asked))
        case .reject(let code, let message):
            reached()
            finish(id, lane, .failed(id: id, attempts: entry.attempts, .init(code: code, message: message)))
        }
    }

    /// Sends an entry again after a while; it keeps its lane.
    private func wait(_ name: String, _ id: String, milliseconds: Int64) {
        let deadline = clock.uptime + milliseconds
        var lane = lanes[name] ?? Lane()
        lane.attempt += 1
        (lane.entry, lane.isWaiting) = (id, true)
        let (attempt, clock) = (lane.attempt, clock)
        lane.task = Task { [weak self] in
            guard (try? await clock.sleep(until: deadline)) != nil else { return }
            await self?.again(name, attempt)
        }
        lanes[name] = lane
    }

    private func again(_ lane: String, _ attempt: Int) {
        guard isCurrent(lane, attempt) else { return }
        lanes[lane]?.entry = nil
        lanes[lane]?.isWaiting = false
        pump()
    }

    private func finish(_ id: String, _ lane: String, _ event: OutboxEvent) {
        do throws(DeviceFailure) {
            try record(event)
        } catch {
            // The answer is lost with the disk; the entry is sent again under its key, and stored once.
            observer?(.storageFailed(error))
            return wait(lane, id, milliseconds: options.retryMilliseconds)
        }
        lanes[lane]?.entry = nil
        lanes[lane]?.task = nil
        if state.entries[id]?.isOver ?? true { files.remove(id) }
        reconnections = 0
        tell(id)
        pump()
    }

    /// Puts an entry that was under way back to its place in the queue.
    func requeue(_ entry: OutboxEntry, attempts: Int, mayHaveArrived: Bool = true) {
        giveUp(entry.lane)
        do throws(DeviceFailure) {
            try record(
                .requeued(
                    id: entry.id, attempts: max(0, attempts), isResent: false, mayHaveArrived: mayHaveArrived))
        } catch {
            observer?(.storageFailed(error))
        }
        tell(entry.id)
    }

    /// Forgets the entry under way in a lane.
    ///
    /// An answer that still arrives is ignored.
    func giveUp(_ lane: String) {
        lanes[lane]?.task?.cancel()
        lanes[lane]?.attempt += 1
        lanes[lane]?.task = nil
        lanes[lane]?.entry = nil
        lanes[lane]?.isWaiting = false
    }

    // MARK: Connection

    /// The service answered.
    func reached() {
        // While entries do not get through, the search for a connection does not start again.
        if !state.hasPending { reconnections = 0 }
        guard !isOnline else { return }
        isOnline = true
        probe?.cancel()
        probe = nil
        observer?(.connection(isOnline: true))
        pump()
    }

    /// Nothing is sent until a connection is found again.
    func goOffline(_ reason: ClientError) {
        guard isOnline, !isClosed else { return scheduleProbe() }
        isOnline = false
        // Entries that wait to be sent again are not under way any more.
        for (_, lane) in lanes where lane.isWaiting {
            if let entry = lane.entry.flatMap({ state.entries[$0] }) { requeue(entry, attempts: entry.attempts) }
        }
        observer?(.connection(isOnline: false, reason: reason))
        scheduleProbe()
    }

    private func scheduleProbe() {
        guard !isClosed, !isStopped, probe == nil, !isOnline else { return }
        let steps = options.reconnectMilliseconds
        let deadline = clock.uptime + (steps.dropFirst(reconnections).first ?? steps.last ?? 5_000)
        reconnections = min(reconnections + 1, steps.count)
        probeAt = deadline
        let clock = clock
        probe = Task { [weak self] in
            guard (try? await clock.sleep(until: deadline)) != nil else { return }
            await self?.look()
        }
    }

    /// The seconds until the outbox looks for a connection again; nil while there is one, and while sending is stopped.
    ///
    /// 0 while it looks.
    public var reconnectionSeconds: Double? {
        guard !isOnline, !isStopped, !isClosed, let probeAt else { return nil }
        return max(0, Double(probeAt - clock.uptime) / 1_000)
    }

    private func look() async {
        let isReachable = await transport.isReachable()
        guard !Task.isCancelled, !isOnline, !isClosed, !isStopped else { return }
        probe = nil
        guard isReachable else { return scheduleProbe() }
        isOnline = true
        observer?(.connection(isOnline: true))
        pump()
    }

    /// Looks for a connection at once, because the system or the user says that it may be back, and lets lanes that wait for
    /// credentials go on.
    ///
    /// ```swift
    /// await outbox.retryNow()
    /// ```
    public func retryNow() {
        for lane in lanes.keys { lanes[lane]?.awaitsCredentials = false }
        guard !isOnline, !isStopped else { return pump() }
        probe?.cancel()
        reconnections = 0
        probe = Task { [weak self] in await self?.look() }
    }

    /// Stops all sending until it is called with false: entries under way go back to the queue.
    ///
    /// ```swift
    /// await outbox.setOffline(true)
    /// ```
    public func setOffline(_ isOffline: Bool) {
        guard isOffline != isStopped, !isClosed else { return }
        isStopped = isOffline
        guard isOffline else {
            isOnline = true
            reconnections = 0
            observer?(.connection(isOnline: true))
            return pump()
        }
        probe?.cancel()
        probe = nil
        for lane in lanes.values {
            guard let entry = lane.entry.flatMap({ state.entries[$0] }) else { continue }
            requeue(entry, attempts: lane.isWaiting ? entry.attempts : entry.attempts - 1)
        }
        observer?(.connection(isOnline: false))
    }
}
