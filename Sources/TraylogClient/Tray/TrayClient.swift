@_spi(Witness) import TraylogAudit
@_spi(Operations) import TraylogDomain
@_spi(Replication) import TraylogReplica

/// One user's tray on a device, even offline: a replica of the server's tray that already shows the user's own actions.
///
/// ```swift
/// let client = try TrayClient(user: "ann", directory: path, transport: http, tokens: tokens)
/// await client.start()
/// for await view in await client.trays { print(view.tray.unread) }
/// ```
///
/// An app with several accounts has a client for each, with a directory for each.
public actor TrayClient {
    /// The tray's owner.
    public nonisolated let user: String
    /// The settings that it was opened with.
    public nonisolated let options: TrayClientOptions
    /// The user's actions and messages on this device, with the state of each entry.
    public nonisolated let outbox: Outbox
    let thread: DeviceThread
    let store: ReplicaStore
    let session: ServiceSession
    let clock: any DeviceClock
    /// The witnesses that must have seen the server's log; nil for none.
    let policy: WitnessPolicy?
    /// The time when the server last showed that they have.
    var witnessedAt: Int64?
    /// Confirmed events only.
    var confirmed: TrayReplica?
    var meta: ReplicaMeta?
    /// The directory's owner, and that person's stream.
    var owner: DeviceOwner
    private let ownerFile: OwnerFile?
    /// The user at the transport's server.
    let account: DeviceAccount
    /// Whether the directory still belongs to the server's address of before, until the server has shown the same store at its new one.
    var isMoving: Bool { owner.account != account }
    /// Counts the replicas: an answer to a request for an earlier one is not used.
    var replicas = 0
    /// ``confirmed`` with each pending mark decided on top of it, and applied.
    var shown: TrayReplica?
    /// The entries that are in ``shown``, or would be if they changed anything: the user's own marks in order.
    var marks: [PendingMark] = []
    var isClosed = false
    /// Whether a part of the stored replica was found damaged, so that it is fetched again.
    var isDamaged = false
    var isForeground = true
    /// Whether a change has several parts, and is reported at its end.
    var isQuiet = false

    // Refreshing.
    var refreshing: Task<Void, Never>?
    var refreshBackoff = Backoff(from: .seconds(1), to: .seconds(4))
    var retry: Task<Void, Never>?
    var live: Task<Void, Never>?
    var wantsLive = false
    var isLive = false
    var polling: Task<Void, Never>?
    /// The interval of polling in force; nil without polling.
    public internal(set) var pollSeconds: Int?
    var credentials: Task<Void, Never>?
    /// The answer that a conditional request names, and the offset that it belongs to.
    var entityTag: (offset: String, tag: String)?
    /// The basis of offsets (``ReplicaMeta/basis(of:)``) for which a snapshot was fetched.
    var basis: Substring?
    /// The time when the server last showed that its log is the replica's; nil after any sign of another log.
    var confirmedAt: Int64?
    /// When the server first answered with less than it had shown; nil after any success.
    var behindSince: Int64?
    /// The number of signs of another log; an answer to an earlier request says nothing about it.
    var doubts = 0
    /// The server's log was found to be another one, or to have lost events, since the client started.
    var wasCut = false
    /// The reload that is under way; others who need one wait for it.
    var reloading: Task<Result<Void, ClientError>, Never>?
    /// The client's status; ``TrayStatus/erased`` is final.
    var activity = TrayStatus.syncing {
        didSet { if oldValue == .erased { activity = .erased } }
    }
    /// The error that the last request ended with; nil after one that succeeded.
    public internal(set) var lastError: ClientError?

    // Listeners.
    var trayListeners = Broadcast<TrayView>()
    var statusListeners = Broadcast<TrayStatus>()
    var arrivalListeners = Broadcast<[Arrival]>()
    var withdrawalListeners = Broadcast<[Seq]>()
    var toldStatus: TrayStatus?

    /// The device's thread, on which the client runs.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }

    /// Opens the tray of `user` in `directory`, or begins an empty one.
    ///
    /// It blocks for some milliseconds. The directory belongs from now on to this user of the transport's server
    /// (``ServiceTransport/origin``), until ``logOut()`` or the erasure of the user. ``TrayClientOptions/movedFrom`` takes it along
    /// when the server moves to another address.
    ///
    /// It sends no request before ``start()``.
    ///
    /// - Throws: ``DeviceFailure``; ``DeviceFailure/Code/inUse`` when another process has the directory,
    ///   ``DeviceFailure/Code/foreign`` when it is another user's or another server's.
    public init(
        user: String, directory: String, transport: any ServiceTransport, tokens: any TokenSource,
        options: TrayClientOptions = TrayClientOptions(), clock: any DeviceClock = SystemDeviceClock()
    ) throws(DeviceFailure) {
        let account = DeviceAccount(server: transport.origin, user: user)
        let place = try DevicePlace(directory: directory, account: account, movedFrom: options.movedFrom)
        do throws(DeviceFailure) {
            try self.init(
                user: user, storage: place.storage, files: place.files, owner: place.known, ownerFile: place.owner,
                transport: transport, tokens: tokens, options: options, clock: clock)
        } catch {
            place.storage.storage.close()
            throw error
        }
    }

    init(
        user: String, storage: CheckedStorage, files: AttachmentFiles, owner: DeviceOwner? = nil,
        ownerFile: OwnerFile? = nil, transport: any ServiceTransport, tokens: any TokenSource,
        options: TrayClientOptions, clock: any DeviceClock
    ) throws(DeviceFailure) {
        let account = DeviceAccount(server: transport.origin, user: user)
        self.account = account
        self.owner = owner ?? DeviceOwner(account: account)
        self.ownerFile = ownerFile
        self.user = user
        self.options = options
        self.clock = clock
        policy = try options.policy()
        thread = try DeviceThread()
        session = ServiceSession(user: user, transport: transport, tokens: tokens)
        store = ReplicaStore(storage: storage, itemLimit: options.itemLimit)
        do throws(DeviceFailure) {
            try options.validate()
            let opened = try store.open()
            if let opened, !opened.meta.user.hasSameBytes(as: user) {
                throw DeviceFailure(
                    .foreign, "The directory has the tray of \(opened.meta.user): give each user a directory.")
            }
            (confirmed, meta) = (opened?.replica, opened?.meta)
        } catch {
            guard error.code == .damaged else { throw error }
            // The outbox is another file, and stays. What else is known of the server stays, too.
            (confirmed, meta) = (nil, store.openMeta().flatMap { $0.user.hasSameBytes(as: user) ? $0 : nil })
            try storage.storage.discardReplica()
        }
        let sender = ActionTransport(session: session)
        outbox = try Outbox(
            storage: storage, files: files, owner: ownerFile, transport: sender, options: options.outbox, clock: clock,
            thread: thread)
        activity = meta?.isInconsistent == true ? .inconsistent : .syncing
        sender.receipts.withLock { $0 = { [weak outbox] id in await outbox?.entry(id) } }
        sender.current.withLock { $0 = { [weak self] id, command in await self?.current(command, of: id) } }
        session.set(
            ServiceSession.Hooks(
                erased: { [weak self] in await self?.erase() },
                verify: { [weak self] token, binding in
                    guard let self else { throw ClientError(.interrupted("the client is gone")) }
                    try await self.verify(token, binding)
                }))
    }

    /// Begins to send, to refresh and, unless ``TrayClientOptions/live`` is false, to follow the server.
    ///
    /// ```swift
    /// await client.start()
    /// ```
    public func start() {
        outbox.here { outbox in
            outbox.observer = { [weak self] change in self?.assumeIsolated { $0.outboxChanged(change) } }
            outbox.isNeeded = { [weak self] entry in self?.assumeIsolated { $0.isNeeded(entry) } ?? false }
        }
        collectMarks()
        rebuild()
        outbox.here { $0.start() }
        wantsLive = options.live
        refresh(.launch)
    }

    // MARK: Queries

    /// The tray as it is shown, at once; zeros before the first answer of the server.
    public var tray: TrayView {
        let tray = (try? shown?.tray()).map { tray in
            var tray = tray
            tray.asOf = confirmed?.through ?? .zero
            tray.revision = confirmed?.revision ?? 0
            return tray
        }
        let status = status
        return TrayView(
            tray: tray ?? Tray(user: user, asOf: .zero), pending: pendingEntries, status: status,
            error: status.hasReason ? lastError : nil)
    }

    /// Entries of the outbox that are not confirmed yet.
    var pendingEntries: [OutboxEntry] { outbox.here { $0.entries.filter(\.isPending) } }

    /// One page of the inbox as it is shown.
    ///
    /// Contents that are not kept here are fetched from the server. Without a connection such items have
    /// no title, and a search by actor, level or text does not find them. Before the server's first answer the page is empty.
    ///
    /// ```swift
    /// let page = try await client.inbox(InboxQuery(ItemFilter(onlyUnread: true)))
    /// ```
    ///
    /// - Throws: ``Refusal`` for a limit outside of 1…100, or a filter that no item can pass; ``DeviceFailure``.
    public func inbox(_ query: InboxQuery = InboxQuery()) async throws -> Page<Item, Cursor> {
        if query.filter.searchesContents, try store.lacksContents() { return try await searchedInbox(query) }
        let page = try reading { try localInbox(query) }
        let missing = page.elements.filter { (try? store.hasContent($0.seq)) == false }.map(\.seq)
        guard !missing.isEmpty else { return page }
        await fetchContents(missing, query)
        return try reading { try localInbox(query) }
    }

    /// A page of a search where some contents are missing: the server finds the items, and this device adds their states.
    private func searchedInbox(_ query: InboxQuery) async throws -> Page<Item, Cursor> {
        try query.validate()
        let end = await fetchContents([], query)
        return try reading {
            var page = try localInbox(query)
            // Items without content here were not searched.
            page.elements = try page.elements.filter { try store.hasContent($0.seq) }
            guard let end, page.next.map({ $0.before < end.before }) ?? true else { return page }
            // The server looked no further.
            page.elements.removeAll { $0.position < end.before }
            page.next = end
            return page
        }
    }

    private func localInbox(_ query: InboxQuery) throws -> Page<Item, Cursor> {
        try query.validate()
        guard let shown else { return Page([], asOf: .zero) }
        var page = try shown.inbox(query)
        page.asOf = confirmed?.through ?? .zero
        return page
    }

    /// One page of the threads as they are shown.
    ///
    /// ```swift
    /// for group in try await client.threads().elements { print(group.count) }
    /// ```
    ///
    /// - Throws: ``Refusal`` for a limit outside of 1…100; ``DeviceFailure``.
    public func threads(limit: Int = 20, cursor: Cursor? = nil) async throws -> Page<
        ThreadGroup, Cursor
    > {
        func local() throws -> Page<ThreadGroup, Cursor> {
            try Limits.check(pageLimit: limit)
            guard let shown else { return Page([], asOf: .zero) }
            var page = try shown.threads(limit: limit, cursor: cursor)
            page.asOf = confirmed?.through ?? .zero
            return page
        }
        let page = try reading(local)
        let missing = page.elements.map(\.newest.seq).filter { (try? store.hasContent($0)) == false }
        guard !missing.isEmpty else { return page }
        await fetchContents(missing, nil)
        return try reading(local)
    }

    /// The mutes as shown, with their ends.
    ///
    /// ```swift
    /// let isQuiet = try await client.mutes().mutes.contains { $0.scope == .all }
    /// ```
    ///
    /// - Throws: ``DeviceFailure``.
    public func mutes() throws -> Mutes {
        guard let shown else { return Mutes(user: user, asOf: .zero, mutes: []) }
        var mutes = try reading { try shown.mutes() }
        mutes.asOf = confirmed?.through ?? .zero
        return mutes
    }

    /// One item as it is shown, in any state.
    ///
    /// ```swift
    /// print(try await client.item("build-17").isRead)
    /// ```
    public func item(_ reference: ItemReference) throws -> Item {
        guard let shown else { throw Refusal.unknownItem(reference) }
        return try reading { try shown.item(reference) }
    }

    /// The tray now, then each change, never two equal ones; a slow reader gets the newest.
    public var trays: AsyncStream<TrayView> { trayListeners.stream(.bufferingNewest(1), first: tray) }
    /// The status now, then each change.
    public var statuses: AsyncStream<TrayStatus> { statusListeners.stream(.unbounded, first: status) }
    /// New items, each reported once on this device; those of one answer together.
    public var arrivals: AsyncStream<[Arrival]> { arrivalListeners.stream(.unbounded, first: nil) }
    /// Presented items that have become read or gone.
    public var withdrawals: AsyncStream<[Seq]> { withdrawalListeners.stream(.unbounded, first: nil) }

    /// Whether any counted item is newer than those this device has shown.
    public var dot: Bool {
        guard let newest = try? shown?.tray().newestCounted else { return false }
        return newest > meta?.shownThrough ?? .zero
    }

    /// The app shows the tray: its dot goes out.
    ///
    /// Nothing is marked.
    ///
    /// ```swift
    /// await client.trayWasShown()
    /// print(await client.dot)
    /// ```
    public func trayWasShown() {
        guard var meta, let newest = try? shown?.tray().newestCounted, newest > meta.shownThrough else { return }
        meta.shownThrough = min(newest, meta.through)
        self.meta = meta
        save(meta)
    }

    /// Whether the app is in front: then, by default, items arrive without sound and badge.
    public func setForeground(_ isForeground: Bool) { self.isForeground = isForeground }

    // MARK: The end

    /// Ends all work; stored data stays.
    ///
    /// ```swift
    /// await client.close()
    /// ```
    public func close() {
        stopAll()
        outbox.here { $0.close() }
    }

    /// Ends all work and removes the replica and the outbox from the device.
    ///
    /// ```swift
    /// try await client.logOut()
    /// ```
    public func logOut() throws(OutboxRefusal) {
        stopAll()
        (confirmed, shown, meta, marks, owner.person) = (nil, nil, nil, [], nil)
        replicas += 1
        try outbox.here { (outbox) throws(OutboxRefusal) in try outbox.logOut() }
    }

    private func stopAll() {
        isClosed = true
        stopTasks()
        trayListeners.finish()
        statusListeners.finish()
        arrivalListeners.finish()
        withdrawalListeners.finish()
    }

    /// Ends work that is under way or would begin by itself.
    func stopTasks() {
        for task in [refreshing, retry, live, polling, credentials] { task?.cancel() }
        reloading?.cancel()
        (retry, polling, pollSeconds, credentials) = (nil, nil, nil, nil)
        (live, isLive) = (nil, false)
    }

    /// Notes the person's stream, which the server at the transport's address has shown, and the token that stands for it.
    func note(_ person: DeviceOwner.Person?, _ token: String) throws(DeviceFailure) {
        var new = owner
        if let person { (new.account, new.person) = (account, person) }
        new.token = DeviceOwner.digest(of: token)
        guard new != owner else { return }
        try ownerFile?.write(new)
        owner = new
    }

    func save(_ meta: ReplicaMeta) {
        do throws(DeviceFailure) { try store.save(meta) } catch { report(error) }
    }

    /// The device's storage failed.
    func report(_ failure: DeviceFailure) {
        lastError = ClientError(group: .server, code: failure.code.rawValue, message: failure.message, mayPass: true)
        setActivity(.failing)
    }
}
