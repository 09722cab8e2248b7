@_spi(Operations) import TraylogDomain
import TraylogPlatform

/// The user's actions on a device: stored first, shown at once, and sent when there is a connection.
///
/// Entries of one lane arrive in order, one at a time; lanes do not wait for each other. An entry that was enqueued is
/// sent again rather than lost, under one key, so that the server stores it once.
///
/// ```swift
/// let outbox = try Outbox(directory: path, transport: chat)
/// let entry = try await outbox.enqueue(Array("Hello".utf8), lane: "text")
/// let outcome = await outbox.outcome(of: entry.id)
/// ```
public actor Outbox {
    /// The settings that it was opened with.
    public nonisolated let options: OutboxOptions
    let thread: DeviceThread
    let storage: CheckedStorage
    let files: AttachmentFiles
    /// The record of the directory's owner; nil for an outbox without an account.
    private let owner: OwnerFile?
    let clock: any DeviceClock
    let transport: any OutboxTransport
    var state = OutboxState()
    var lanes: [String: Lane] = [:]
    /// Whether a connection is believed to exist.
    public internal(set) var isOnline = true
    /// Whether sending was stopped by ``setOffline(_:)``.
    public internal(set) var isStopped = false
    var isClosed = false
    /// ``OutboxState/spareRows`` that the last compaction had to leave.
    private var uncompacted = 0
    /// Failed looks for a connection in a row.
    var reconnections = 0
    var probe: Task<Void, Never>?
    /// When the last probe that was planned looks for a connection, by the clock's uptime.
    var probeAt: Int64?
    /// Called for each change on the outbox's thread, before any other listener.
    var observer: (@Sendable (Change) -> Void)?
    /// Entries that are over and have to stay listed.
    var isNeeded: @Sendable (OutboxEntry) -> Bool = { _ in false }
    private var listeners: [Int: AsyncStream<OutboxEntry>.Continuation] = [:]
    private var listenerCount = 0
    private var waiting: [String: [Int: CheckedContinuation<OutboxOutcome, Never>]] = [:]
    private var waiterCount = 0
    /// A sentence for the user about each event of the log that could not be read, and about each damaged file that is kept.
    ///
    /// All other entries are there.
    public internal(set) var damage: [String] = []

    /// What an observer receives.
    enum Change: Sendable {
        case entry(OutboxEntry)
        case discarded(OutboxEntry)
        /// - Parameter reason: nil where somebody asked for it.
        case connection(isOnline: Bool, reason: ClientError? = nil)
        case authenticationRequired
        case storageFailed(DeviceFailure)
    }

    /// The work under way in a lane.
    ///
    /// Nothing of it is stored.
    struct Lane: Sendable {
        var task: Task<Void, Never>?
        /// The entry under way.
        var entry: String?
        /// Counts the attempts, so that the answer to one that was given up is not taken for another's.
        var attempt = 0
        var awaitsCredentials = false
        /// The entry waits to be sent again.
        var isWaiting = false
        /// Whether the entry may have arrived by an earlier attempt.
        var mayHaveArrived = false
    }

    /// The device's thread, on which the outbox runs.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }

    /// Opens the outbox in `directory`, and creates it where it is missing.
    ///
    /// It blocks for some milliseconds.
    ///
    /// Nothing is sent before ``start()``.
    ///
    /// ```swift
    /// let account = DeviceAccount(server: "https://chat.example.org", user: "ann")
    /// let outbox = try Outbox(directory: path, account: account, transport: chat)
    /// ```
    ///
    /// - Parameter account: the owner of the entries, recorded in the directory before the first one; with nil the app keeps
    ///   accounts apart itself.
    /// - Throws: ``DeviceFailure``; ``DeviceFailure/Code/inUse`` when another process has the directory,
    ///   ``DeviceFailure/Code/foreign`` when it belongs to another account, or has entries of an unknown account.
    public init(
        directory: String, account: DeviceAccount? = nil, transport: any OutboxTransport,
        options: OutboxOptions = OutboxOptions(), clock: any DeviceClock = SystemDeviceClock()
    ) throws(DeviceFailure) {
        let place = try DevicePlace(directory: directory, account: account)
        do throws(DeviceFailure) {
            try self.init(
                storage: place.storage, files: place.files, owner: place.owner, transport: transport, options: options,
                clock: clock, thread: try DeviceThread())
        } catch {
            place.storage.storage.close()
            throw error
        }
    }

    /// The same on another storage; attachments are kept as files in a directory.
    ///
    /// The app keeps the storages of its accounts apart.
    public init(
        storage: any DeviceStorage, attachments directory: String, transport: any OutboxTransport,
        options: OutboxOptions = OutboxOptions(), clock: any DeviceClock = SystemDeviceClock()
    ) throws(DeviceFailure) {
        try self.init(
            storage: CheckedStorage(storage: storage), files: AttachmentFiles(directory: directory),
            transport: transport, options: options, clock: clock, thread: try DeviceThread())
    }

    init(
        storage: CheckedStorage, files: AttachmentFiles, owner: OwnerFile? = nil, transport: any OutboxTransport,
        options: OutboxOptions, clock: any DeviceClock, thread: DeviceThread
    ) throws(DeviceFailure) {
        (self.storage, self.files, self.owner, self.transport) = (storage, files, owner, transport)
        (self.options, self.clock, self.thread) = (options, clock, thread)
        try options.validate()
        let opened = try OutboxLog(storage).open(options)
        state = opened.state
        damage = storage.storage.damage + opened.damage
        // Attachments of entries that may still be found stay.
        if damage.isEmpty {
            try files.removeAll(except: Set(opened.state.listed.filter { !$0.isOver }.map(\.id)))
        }
    }

    /// Begins to send.
    ///
    /// Later calls do nothing.
    ///
    /// ```swift
    /// await outbox.start()
    /// ```
    public func start() {
        for lane in state.laneNames where lanes[lane] == nil { lanes[lane] = Lane() }
        pump()
    }

    // MARK: Queries

    /// All entries, oldest first: in the order in which they were enqueued, also after a resend.
    ///
    /// Synced ones leave the list when the log is compacted.
    public var entries: [OutboxEntry] { state.listed }

    /// One entry in any state; nil when it was never there, or is over and no longer listed.
    ///
    /// ```swift
    /// if let entry = await outbox.entry(id) { print(entry.state) }
    /// ```
    public func entry(_ id: String) -> OutboxEntry? { state.entries[id] }

    /// Whether anything is on its way.
    public var hasPending: Bool { state.hasPending }

    /// Every change of an entry from now on, in order: each entry in each state that it enters.
    public var updates: AsyncStream<OutboxEntry> {
        let (stream, continuation) = AsyncStream.makeStream(of: OutboxEntry.self)
        listenerCount += 1
        let number = listenerCount
        listeners[number] = continuation
        continuation.onTermination = { [weak self] _ in Task { await self?.removeListener(number) } }
        return stream
    }

    private func removeListener(_ number: Int) { listeners[number] = nil }

    /// Waits until an entry is synced, failed or discarded.
    ///
    /// ```swift
    /// if case .failed(let problem) = await outbox.outcome(of: id) { print(problem.message) }
    /// ```
    ///
    /// - Returns: ``OutboxOutcome/pending`` when the caller's task is cancelled before that.
    public func outcome(of id: String) async -> OutboxOutcome {
        guard let entry = state.entries[id] else { return .over }
        if let outcome = entry.outcome { return outcome }
        waiterCount += 1
        let number = waiterCount
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                guard !Task.isCancelled else { return waiter.resume(returning: .pending) }
                waiting[id, default: [:]][number] = waiter
            }
        } onCancel: {
            Task { await self.stopWaiting(for: id, number) }
        }
    }

    private func stopWaiting(for id: String, _ number: Int) {
        waiting[id]?.removeValue(forKey: number)?.resume(returning: .pending)
        if waiting[id]?.isEmpty == true { waiting[id] = nil }
    }

    private func resumeWaiters(for id: String, _ outcome: OutboxOutcome) {
        for waiter in (waiting.removeValue(forKey: id) ?? [:]).values { waiter.resume(returning: outcome) }
    }

    // MARK: Commands

    /// Stores an entry at the end of its lane.
    ///
    /// When this returns, it survives a power cut.
    ///
    /// ```swift
    /// let entry = try await outbox.enqueue(Array("Hello".utf8), lane: "text")
    /// ```
    ///
    /// - Parameters:
    ///   - payload: the bytes that the transport sends.
    ///   - path: a file to upload first; it is copied.
    ///   - id: the idempotency key; a random one when nil.
    /// - Throws: ``OutboxRefusal``, after which nothing was stored.
    @discardableResult
    public func enqueue(
        _ payload: [UInt8], lane: String, attachment path: String? = nil, id: String? = nil
    ) throws(OutboxRefusal) -> OutboxEntry {
        guard !isClosed else { throw .closed }
        guard state.liveCount < options.entryLimit else { throw .outboxFull(limit: options.entryLimit) }
        let id = id ?? Self.randomID()
        guard state.entries[id] == nil else { throw .repeatedID(id) }
        var entry = OutboxEntry(id: id, lane: lane, payload: payload, createdAt: clock.now)
        if let path {
            let room = options.attachmentByteLimit - state.attachmentBytes
            entry.attachment = try files.copy(path, as: id, atMost: room, limit: options.attachmentByteLimit)
        }
        do throws(DeviceFailure) {
            try record(.queued(entry))
        } catch {
            files.remove(id)
            throw .storage(error)
        }
        tell(id)
        pump()
        return entry
    }

    /// Sends a failed entry again, from the end of its lane and under the same key.
    ///
    /// Its time stays.
    ///
    /// ```swift
    /// try await outbox.resend(id)
    /// ```
    public func resend(_ id: String) throws(OutboxRefusal) {
        guard !isClosed else { throw .closed }
        guard let entry = state.entries[id] else { throw .unknownEntry(id) }
        guard entry.state == .failed else { throw .notFailed(id) }
        try attempt { () throws(DeviceFailure) in
            try record(.requeued(id: id, attempts: 0, isResent: true, mayHaveArrived: entry.mayHaveArrived))
        }
        tell(id)
        pump()
    }

    /// Sends synced entries again, because the server may have lost them.
    ///
    /// Because of their keys, it stores each once.
    ///
    /// They come back to the places in their lanes that they had.
    func requeueSynced(where isLost: (OutboxEntry) -> Bool) throws(DeviceFailure) {
        let lost = state.listed.filter { $0.isOver && isLost($0) }
        // Entries under way come after them again, and their answers may be from before.
        for lane in lanes.keys {
            guard let entry = lanes[lane]?.entry.flatMap({ state.entries[$0] }) else { continue }
            requeue(entry, attempts: lanes[lane]?.isWaiting == true ? entry.attempts : entry.attempts - 1)
        }
        for entry in lost {
            try record(.requeued(id: entry.id, attempts: 0, isResent: false, mayHaveArrived: true))
        }
        for entry in lost { tell(entry.id) }
        pump()
    }

    /// Removes an entry that is not over.
    ///
    /// An entry that is under way may still arrive.
    ///
    /// ```swift
    /// try await outbox.discard(id)
    /// ```
    public func discard(_ id: String) throws(OutboxRefusal) {
        guard let entry = state.entries[id], !entry.isOver else { throw .unknownEntry(id) }
        try discard([entry])
    }

    /// Removes all failed entries.
    ///
    /// ```swift
    /// print("\(try await outbox.discardFailed()) removed")
    /// ```
    ///
    /// - Returns: how many there were.
    @discardableResult
    public func discardFailed() throws(OutboxRefusal) -> Int {
        let failed = state.listed.filter { $0.state == .failed }
        try discard(failed)
        return failed.count
    }

    private func discard(_ entries: [OutboxEntry]) throws(OutboxRefusal) {
        guard !isClosed else { throw .closed }
        guard !entries.isEmpty else { return }
        try attempt { () throws(DeviceFailure) in try record(.discarded(entries.map(\.id))) }
        for entry in entries {
            if lanes[entry.lane]?.entry == entry.id { giveUp(entry.lane) }
            files.remove(entry.id)
            observer?(.discarded(entry))
            resumeWaiters(for: entry.id, .over)
        }
        pump()
    }

    // MARK: The end

    /// Ends all sending; entries stay for the next time.
    ///
    /// ```swift
    /// await outbox.close()
    /// ```
    public func close() {
        stopAll()
        storage.storage.close()
    }

    /// Ends all sending and removes the outbox, and whatever else is in its storage.
    ///
    /// ```swift
    /// try await outbox.logOut()
    /// ```
    public func logOut() throws(OutboxRefusal) {
        stopAll()
        try attempt { () throws(DeviceFailure) in
            files.removeDirectory()
            try storage.storage.destroy()
            // Last, so that the directory has an owner as long as it has anything.
            owner?.remove()
        }
        state = OutboxState()
    }

    private func stopAll() {
        guard !isClosed else { return }
        isClosed = true
        probe?.cancel()
        for lane in lanes.keys { giveUp(lane) }
        for listener in listeners.values { listener.finish() }
        listeners = [:]
        for id in waiting.keys { resumeWaiters(for: id, .over) }
    }

    // MARK: Inside

    private func attempt(_ body: () throws(DeviceFailure) -> Void) throws(OutboxRefusal) {
        do throws(DeviceFailure) { try body() } catch { throw .storage(error) }
    }

    /// Stores an event durably, then folds it in.
    func record(_ event: OutboxEvent) throws(DeviceFailure) {
        let row = state.nextRow
        let change = DeviceChange.put(.outbox, key: row, value: event.bytes)
        if state.spareRows >= uncompacted + options.compactionEvents {
            try compact(with: [change])
        } else {
            try storage.write([change])
        }
        state.apply(event, row: row)
    }

    /// Removes finished entries from the log, now.
    public func compact() throws(DeviceFailure) { try compact(with: []) }

    /// Removes finished entries from the log, together with other changes.
    ///
    /// The fold of what remains is the same state without them. If the write fails, nothing has changed.
    private func compact(with changes: [DeviceChange]) throws(DeviceFailure) {
        var rest = state
        for entry in state.entries.values where entry.isOver && !isNeeded(entry) { rest.remove(entry.id) }
        let rows = rest.takeDeadRows()
        try storage.write(changes + rows.map { .remove(.outbox, key: $0) })
        (state, uncompacted) = (rest, rest.spareRows)
    }

    /// Reports an entry's present state.
    func tell(_ id: String) {
        guard let entry = state.entries[id] else { return }
        observer?(.entry(entry))
        for listener in listeners.values { listener.yield(entry) }
        guard let outcome = entry.outcome else { return }
        resumeWaiters(for: id, outcome)
    }

    private static func randomID() -> String { SystemRandom.bytes(count: 16).hex }
}

extension OutboxEntry {
    var outcome: OutboxOutcome? {
        switch state {
        case .synced: .synced(receipt: receipt ?? [])
        case .failed: problem.map { .failed($0) }
        default: nil
        }
    }
}
