@_spi(Operations) @_spi(Replication) @_spi(Wire) import TraylogDomain
@_spi(Replication) import TraylogReplica

extension TrayClient {
    // MARK: Triggers

    /// Asks the server for changes.
    ///
    /// Calls while a request is under way do not make another one.
    ///
    /// ```swift
    /// await client.refresh(.pull)
    /// ```
    public func refresh(_ trigger: RefreshTrigger) {
        guard !isClosed, activity != .erased else { return }
        if trigger == .foreground { isForeground = true }
        // The device may have slept.
        if trigger != .idle { doubt() }
        retry?.cancel()
        retry = nil
        refreshBackoff.reset()
        if trigger != .idle { outbox.here { $0.retryNow() } }
        startRefresh()
    }

    func startRefresh() {
        guard !isClosed, refreshing == nil, mayAsk else { return }
        refreshing = Task { [weak self] in await self?.runRefresh() }
        updateStatus()
    }

    /// Whether requests may leave the device.
    var mayAsk: Bool { outbox.here { $0.isOnline && !$0.isStopped } && activity != .erased }

    private func runRefresh() async {
        var failure: ClientError?
        do throws(ClientError) {
            try await bringUpToDate()
        } catch {
            failure = error
        }
        guard !Task.isCancelled, !isClosed, activity != .erased else { return }
        refreshing = nil
        if let failure { failed(failure) } else { startLive() }
        // The answer may lack entries that were sent meanwhile.
        if failure == nil, !isLive, marks.contains(where: { $0.receipt != nil }) { startRefresh() }
        updateStatus()
    }

    /// After an error, again after 1, 2 and 4 seconds, and then at the next trigger; a server that is not ready, or busy, and says
    /// when to ask again, is asked then.
    func failed(_ error: ClientError) {
        guard activity != .erased else { return }
        lastError = error
        doubt()
        if ["unwitnessed", "inconsistent"].contains(error.code) {
            live?.cancel()
            (live, isLive) = (nil, false)
        }
        switch error.group {
        case .connectivity where error.isOffline:
            outbox.here { $0.goOffline(error) }
        case .authentication:
            awaitCredentials()
        default:
            setActivity(.failing)
            let isAwaited = [429, 503].contains(error.status) && error.retryAfter != nil
            guard refreshBackoff.failures < 3 || isAwaited, error.mayPass else { return }
            let deadline = clock.uptime + max(refreshBackoff.pause().milliseconds, error.askedMilliseconds)
            let clock = clock
            retry = Task { [weak self] in
                guard (try? await clock.sleep(until: deadline)) != nil else { return }
                await self?.startRefresh()
            }
        }
    }

    /// Looks for another token every few seconds; a refresh tries at once.
    func awaitCredentials() {
        setActivity(.authenticationRequired)
        guard credentials == nil, !isClosed, activity != .erased else { return }
        let (clock, session) = (clock, session)
        credentials = Task { [weak self] in
            while !Task.isCancelled {
                guard (try? await clock.sleep(until: clock.uptime + 1_000)) != nil else { return }
                guard await session.hasNewToken() else { continue }
                await self?.resumeWithNewToken()
                return
            }
        }
    }

    private func resumeWithNewToken() {
        credentials = nil
        guard !isClosed else { return }
        refresh(.launch)
    }

    /// The server answered with success.
    ///
    /// - Parameter doubts: ``doubts`` when it was asked.
    private func succeeded(_ doubts: Int) {
        lastError = nil
        if doubts == self.doubts { confirmedAt = clock.uptime }
        refreshBackoff.reset()
        behindSince = nil
        credentials?.cancel()
        credentials = nil
        outbox.here { $0.reached() }
        activity = .syncing
    }

    /// The server's log may be a different one.
    func doubt() {
        confirmedAt = nil
        doubts += 1
    }

    /// - Parameter reason: the reason why there is no connection; nil if the app asked for it.
    func connectionChanged(_ isOnline: Bool, _ reason: ClientError?) {
        doubt()
        guard isOnline else {
            if lastError?.isOffline != true {
                lastError = reason
            }
            refreshing?.cancel()
            refreshing = nil
            live?.cancel()
            reloading?.cancel()
            (live, isLive) = (nil, false)
            if activity == .failing { activity = .syncing }
            return
        }
        startRefresh()
    }

    // MARK: Changes

    /// Folds in everything up to the server's head; fetches a snapshot where that is not possible.
    ///
    /// - Throws: the error that ended it; ``ClientError`` `erased` when the person was erased.
    func bringUpToDate() async throws(ClientError) {
        let seen = try await witnessedHead()
        if let seen { try await takeWitnessed(seen) }
        if confirmed == nil || isDamaged || isMoving { try await reload(.missing) }
        if let seen { try await takeWitnessed(seen) }
        var snapshots = 0
        while let meta, !isClosed {
            let (replicas, doubts) = (replicas, doubts)
            let start = entityTag?.offset ?? meta.offset
            var request = ServiceRequest("GET", "\(path)/changes?offset=\(PercentEncoding.encode(start))")
            // The service's pages have 1 MiB, and an event more.
            request.longestAnswer = 8 << 20
            request.headers["If-None-Match"] = entityTag?.tag
            if options.witness || policy != nil { request.headers["Prefer"] = "tree-head" }
            let (response, token): (ServiceResponse, String)
            do throws(ClientError) {
                (response, token) = try await session.answer(to: request)
            } catch {
                guard replicas == self.replicas else { continue }
                // A server that refuses an offset it has just returned will refuse it again, until its nodes agree.
                snapshots += 1
                guard snapshots < 3 else { throw error.concernsOffset ? .behind : error }
                try await recover(from: error)
                continue
            }
            guard !Task.isCancelled, !isStopped else { throw ClientError(.interrupted("cancelled")) }
            // The answer is about a replica that another one has replaced.
            guard replicas == self.replicas else { continue }
            succeeded(doubts)
            let next = response.headers["stream-next-offset"] ?? start
            let isAtHead = response.headers["stream-up-to-date"] == "true" || response.status == 304
            if policy != nil, let head = response.headers["traylog-tree-head"] {
                // Before anything is taken.
                try await witness(head)
                if self.meta?.isInconsistent == true { throw .inconsistent }
                guard replicas == self.replicas else { continue }
            }
            if response.status != 304 {
                entityTag = nil
                let events: [[UInt8]]
                do { events = try WireObject.elements(response.body) } catch { throw ClientError(fault: error) }
                guard try await take(events, next) else { continue }
                if events.isEmpty, isAtHead { entityTag = response.headers["etag"].map { (start, $0) } }
            } else {
                guard try await take([], next) else { continue }
            }
            if owner.person == nil {
                // A directory of a version that did not note the stream.
                try await reload(.missing)
                continue
            }
            do throws(DeviceFailure) { try note(nil, token) } catch { throw ClientError(storage: error) }
            if policy == nil, let head = response.headers["traylog-tree-head"] { try await witness(head) }
            if isAtHead { break }
        }
        guard activity != .erased else { throw .erased }
    }

    /// Makes sure that a token stands for the person whose stream the replica has (a reused name has tokens, too),
    /// and that the server's log is still the replica's.
    ///
    /// The token that showed the stream last does: the service refuses it once the person was erased. Another one has to show
    /// the same stream first. A log is sure while it is followed, and for some seconds after an answer: a restore takes longer.
    func verify(_ token: String, _ binding: ServiceSession.Binding) async throws(ClientError) {
        guard activity != .erased else { throw .erased }
        guard !isClosed else { throw ClientError(.interrupted("the client was closed")) }
        guard owner.person != nil, !isSure(token, binding) else { return }
        // A request that is made anyway is not made twice.
        if let refreshing { await refreshing.value }
        if !isSure(token, binding) { try await bringUpToDate() }
        guard owner.token == DeviceOwner.digest(of: token) else {
            throw ClientError(
                group: .connectivity, code: "interrupted", message: "the token was exchanged meanwhile", mayPass: true)
        }
    }

    private func isSure(_ token: String, _ binding: ServiceSession.Binding) -> Bool {
        guard !isMoving, owner.token == DeviceOwner.digest(of: token) else { return false }
        guard case .log = binding, !isLive else { return true }
        return confirmedAt.map { clock.uptime - $0 < Self.sureMilliseconds } ?? false
    }

    private static let sureMilliseconds: Int64 = 10_000

    /// Whether the app works offline: the shown tray then stays as it is, so that nobody marks an item that was just replaced.
    private var isStopped: Bool { outbox.here { $0.isStopped } }

    var path: String { "/v1/users/\(PercentEncoding.encode(user))" }

    /// - Throws: the error, when a snapshot does not help.
    func recover(from error: ClientError) async throws(ClientError) {
        switch (error.status, error.code) {
        case _ where error.saysErased: throw error
        case (410, "rewound"): try await reload(.refusedOffset)
        case (400, "invalid"): try await reload(.unknownOffset)
        case (410, _): try await reload(.missing)
        default: throw error
        }
    }

    /// Folds events in and stores them, with where `changes` goes on.
    ///
    /// - Returns: false when a snapshot took their place.
    func take(_ texts: [[UInt8]], _ next: String) async throws(ClientError) -> Bool {
        guard var replica = confirmed, var meta, let through = ReplicaMeta.seq(of: next) else {
            throw activity == .erased
                ? .erased : ClientError(fault: WireFault("Stream-Next-Offset is no offset"))
        }
        let basis = ReplicaMeta.basis(of: next)
        guard basis == ReplicaMeta.basis(of: meta.offset) || basis == self.basis else {
            // The answer has another history than the replica: a snapshot shows the difference.
            try await reload(.refusedOffset)
            // Only now: a reload that fails has to be tried again.
            self.basis = basis
            return false
        }
        guard !texts.isEmpty || through > meta.through else { return true }
        let events: [Event]
        do {
            events = try texts.map { try Event(wire: WireObject($0)) }.filter { $0.seq > meta.through }
            guard !events.contains(where: { $0.kind == .erased && $0.user != nil }) else {
                erase()
                return true
            }
            try replica.apply(events, through: through)
        } catch {
            // An undo below the snapshot, or an event of a kind that came later: the server's own fold shows it. Or a page of
            // the replica is damaged.
            noteDamage(error)
            try await reload(.missing)
            return false
        }
        if through > meta.through { (meta.offset, meta.through) = (next, through) }
        if events.isEmpty {
            (confirmed, self.meta) = (replica, meta)
            dropConfirmed()
            rebuild()
            return true
        }
        let news = news(events.filter { $0.content != nil }.map(\.seq), replica, &meta)
        do {
            replica = try store.save(replica, events, meta)
        } catch {
            guard noteDamage(error) else { throw ClientError(storage: error) }
            try await reload(.missing)
            return false
        }
        (confirmed, self.meta) = (replica, meta)
        dropConfirmed()
        rebuild()
        tell(news)
        return true
    }

    // MARK: Snapshots

    /// The reason for fetching a snapshot.
    enum ReloadCause: Sendable {
        /// There are no changes from the replica's position: there is no replica, it is damaged, or the log was compacted.
        case missing
        /// The server no longer has something that it once returned.
        case refusedOffset
        /// The server does not know something that it once returned: it has another log, or is a node that is behind.
        case unknownOffset
    }

    /// Fetches a snapshot and replaces the replica by it.
    ///
    /// The shown tray stays until then, and pending marks stay. One reload is under way at a time.
    func reload(_ cause: ReloadCause) async throws(ClientError) {
        if let reloading { return try await reloading.value.get() }
        let task = Task { [weak self] () -> Result<Void, ClientError> in
            do throws(ClientError) {
                try await self?.fetchSnapshot(cause)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        reloading = task
        let result = await task.value
        reloading = nil
        try result.get()
        startLive()
    }

    private func fetchSnapshot(_ cause: ReloadCause) async throws(ClientError) {
        guard activity != .erased else { throw .erased }
        if confirmed != nil { setActivity(.reloading) }
        if isDamaged {
            // Pages that cannot be read cannot be replaced one by one either.
            do { try store.storage.storage.discardReplica() } catch { throw ClientError(storage: error) }
        }
        var (snapshot, before, doubts): (Snapshot, Seq?, Int)
        repeat {
            (before, doubts) = (confirmed?.through, self.doubts)
            snapshot = try await session.snapshot(path)
            guard activity != .erased else { throw .erased }
            guard !isClosed, !Task.isCancelled, !isStopped else { throw ClientError(.interrupted("cancelled")) }
            // Changes may have come meanwhile that the snapshot does not have.
        } while confirmed?.through != before && confirmed.map { snapshot.asOf < $0.through } ?? false
        let continuity = continuity(with: snapshot, cause)
        try checkMove(to: snapshot.person, continuity)
        if cause == .unknownOffset, isBehind(snapshot) { throw .behind }
        if case .anotherPerson = continuity {
            erase()
            throw .erased
        }
        do {
            try replace(by: snapshot, continuity, asked: doubts)
        } catch {
            throw ClientError(storage: error)
        }
    }

    /// The relation of a snapshot to the replica.
    private enum Continuity {
        /// The same log, or the first answer.
        case same
        /// The server was restored from a backup, and its log differs after this event, or after an earlier one.
        case cut(after: Seq)
        /// An unrelated store.
        case anotherStore
        /// The name belongs to somebody else now.
        case anotherPerson

        /// The newest event that is the same before and after; nil when all are.
        var bound: Seq? {
            switch self {
            case .same, .anotherPerson: nil
            case .cut(let seq): seq
            case .anotherStore: .zero
            }
        }
    }

    private func continuity(with snapshot: Snapshot, _ cause: ReloadCause) -> Continuity {
        guard let known = owner.person else {
            return meta.map { $0.store == snapshot.person.store } ?? true ? .same : .anotherStore
        }
        let new = snapshot.person
        guard known.store == new.store else {
            // A log that was exported and restored has another store's name, and the same items.
            let bound = commonBound(with: snapshot)
            return bound > .zero ? .cut(after: bound) : .anotherStore
        }
        if let old = known.history, let history = new.history {
            // Sent entries may have been lost, even beyond the replica's position.
            if old != history { return .cut(after: history.lastShared(with: old) ?? commonBound(with: snapshot)) }
        } else if cause != .missing {
            // A service that names no history shows by its refusals that it has another one.
            return .cut(after: commonBound(with: snapshot))
        }
        // Not even so many events are left: somebody put older files in the place of the newer ones.
        if let meta, snapshot.asOf < meta.through { return .cut(after: commonBound(with: snapshot)) }
        return known.stream != 0 && known.stream != new.stream ? .anotherPerson : .same
    }

    /// Whether a snapshot is of the replica's own history, and older: its node lacks events that another one has shown.
    ///
    /// After a minute it counts as a log that lost them.
    private func isBehind(_ snapshot: Snapshot) -> Bool {
        guard let meta, snapshot.asOf < meta.through, let known = owner.person, known.store == snapshot.person.store,
            let history = known.history, history == snapshot.person.history
        else { return false }
        let since = behindSince ?? clock.uptime
        behindSince = since
        return clock.uptime - since < Self.behindMilliseconds
    }

    private static let behindMilliseconds: Int64 = 60_000

    /// Makes sure, before anything is sent to a server at a new address, that it has the store that the directory belongs to.
    private func checkMove(to person: DeviceOwner.Person, _ continuity: Continuity) throws(ClientError) {
        guard isMoving, let known = owner.person else { return }
        // A diverged history of the same store is a backup's: the replica is cut, as after any restore.
        var isSame = known.store == person.store
        if case .anotherPerson = continuity { isSame = false }
        guard isSame else {
            throw ClientError(
                unreachable: "the server at \(account.server) has another store than the one at "
                    + "\(owner.account.server), "
                    + "so nothing was sent to it: give the address that the server has now")
        }
    }

    /// The newest position whose item is the same in the replica and in a snapshot: up to there both logs agree.
    private func commonBound(with snapshot: Snapshot) -> Seq {
        guard let confirmed, !isDamaged else { return .zero }
        var bound = Seq.zero
        for item in snapshot.pages.lazy.flatMap(\.snapshot.items).map(\.item) where item.position > bound {
            guard item.position <= confirmed.through, let old = try? confirmed.item(.seq(item.seq)) else { continue }
            let isSame =
                old.position == item.position && old.recordedAt == item.recordedAt && old.key == item.key
                && old.topic == item.topic && old.content.thread == item.content.thread
                && old.content.category == item.content.category
            if isSame { bound = item.position }
        }
        return bound
    }

    private func replace(by snapshot: Snapshot, _ continuity: Continuity, asked doubts: Int) throws {
        let (first, asOf) = (snapshot.pages[0], snapshot.asOf)
        var new = ReplicaMeta(
            user: user, store: first.store, offset: first.offset, through: asOf, secret: ReplicaMeta.newSecret(),
            arrivedThrough: asOf)
        var lost: [Seq] = []
        if let meta {
            (new.treeHead, new.isInconsistent) = (meta.treeHead, meta.isInconsistent)
            new.bounds = meta.bounds
            let common = continuity.bound ?? asOf
            if case .anotherStore = continuity {} else { new.arrivedThrough = min(meta.arrivedThrough, common) }
            new.shownThrough = min(meta.shownThrough, common)
            (new.presented, lost) = (meta.presented.filter { $0 <= common }, meta.presented.filter { $0 > common })
        }
        // An entry that is no longer listed is not sent again.
        let listed = outbox.here { $0.entries }
        let ids = Set(listed.map(\.id))
        new.bounds = new.bounds.filter { ids.contains($0.key) }
        if let bound = continuity.bound {
            wasCut = true
            for entry in listed where entry.lane == Self.marksLane {
                new.bounds[entry.id] = min(new.bounds[entry.id] ?? bound, bound)
            }
        }
        let items = snapshot.pages.flatMap { $0.snapshot.items.map(\.item.seq) }.filter { $0 > new.arrivedThrough }
        let replica = try TrayReplica(snapshot.pages.map(\.snapshot), hasher: new.hasher)
        var news = news(items.sorted(), replica, &new)
        news.withdrawn = lost + news.withdrawn
        // First the owner, then the owner's tray.
        try note(snapshot.person, snapshot.token)
        do {
            confirmed = try store.replace(by: snapshot.pages.map(\.snapshot), new)
        } catch {
            noteDamage(error)
            throw error
        }
        (meta, entityTag, isDamaged) = (new, nil, false)
        replicas += 1
        // It follows the stream of the replica before.
        live?.cancel()
        (live, isLive) = (nil, false)
        succeeded(doubts)
        switch continuity {
        case .same, .anotherPerson: break
        case .cut:
            // Sent entries may have been lost, in this history or in one that the device never saw. Because of their keys, the server
            // stores each once.
            try outbox.here { outbox in try outbox.requeueSynced { ActionReceipt($0.receipt)?.seq != nil } }
            collectMarks()
        case .anotherStore: marks.removeAll { $0.receipt != nil }
        }
        dropConfirmed()
        rebuild()
        tell(news)
    }

    /// Reads or writes the stored replica; a damaged one is fetched again.
    ///
    /// - Throws: the error, a refusal by the replica as ``Refusal``.
    func reading<Answer>(_ body: () throws -> Answer) throws -> Answer {
        do {
            return try body()
        } catch {
            if let refusal = (error as? TraylogError)?.refusal { throw refusal }
            if noteDamage(error) { refresh(.trayVisible) }
            throw error
        }
    }

    /// Remembers that the replica must be fetched again, if an error says so.
    @discardableResult
    func noteDamage(_ error: any Error) -> Bool {
        switch error {
        case let failure as DeviceFailure: isDamaged = isDamaged || failure.code == .damaged
        case let error as TraylogError: isDamaged = isDamaged || error.failure?.code == .damaged
        default: break
        }
        return isDamaged
    }

    /// The user was erased: nothing of the user stays on the device, and no more requests are sent.
    func erase() {
        guard activity != .erased, !isClosed else { return }
        activity = .erased
        (confirmed, shown, meta, marks, entityTag, owner.person) = (nil, nil, nil, [], nil, nil)
        (wantsLive, lastError) = (false, nil)
        replicas += 1
        do {
            try outbox.here { try $0.logOut() }
        } catch {
            lastError = ClientError(storage: error)
        }
        stopTasks()
        updateStatus()
        tellTray()
    }

    // MARK: Contents

    /// Asks for contents that are not kept here.
    ///
    /// Without an answer the items are shown without.
    ///
    /// - Parameters:
    ///   - items: the items without contents.
    ///   - query: the query that finds them; contents of other items that it finds are kept, too.
    /// - Returns: where the server's next page begins; nil at the end and without an answer.
    @discardableResult
    func fetchContents(_ items: [Seq], _ query: InboxQuery?) async -> Cursor? {
        guard mayAsk, !isMoving, let replica = confirmed else { return nil }
        let replicas = replicas
        var missing = Set(items)
        var found: [Item] = []
        var next: Cursor?
        var page = ServiceRequest("GET", "\(path)/inbox?\(query?.text ?? "")")
        page.longestAnswer = 32 << 20
        if query != nil, let response = try? await session.perform(page),
            let fields = try? WireObject(response.body), let elements = try? fields.elements("items")
        {
            found = elements.compactMap { try? Item(wire: WireObject($0)) }
            for item in found { missing.remove(item.seq) }
            next = (try? fields.string(maybe: "next")).flatMap(\.self).flatMap { Cursor($0) }
        }
        for seq in missing.sorted() where replicas == self.replicas {
            guard let response = try? await session.perform(ServiceRequest("GET", "\(path)/items/\(seq)")) else {
                continue
            }
            let fields = try? WireObject(response.body)
            if let item = (try? fields?.object("item")) ?? fields, let item = try? Item(wire: item) {
                found.append(item)
            }
        }
        // The replica was replaced, or the name has a new owner: the answer no longer applies.
        guard replicas == self.replicas, !isClosed else { return nil }
        do {
            try store.add(found, to: replica)
        } catch {
            lastError = ClientError(storage: error)
        }
        return next
    }
}

/// All pages of a snapshot.
struct Snapshot: Sendable {
    /// At least one.
    let pages: [SnapshotPage]
    /// The token of the last request.
    let token: String

    var asOf: Seq { pages[0].snapshot.asOf }

    var person: DeviceOwner.Person {
        DeviceOwner.Person(store: pages[0].store, history: pages[0].history, stream: pages[0].snapshot.stream)
    }
}

extension ServiceSession {
    /// Asks for all pages.
    fileprivate func snapshot(_ path: String) async throws(ClientError) -> Snapshot {
        var pages: [SnapshotPage] = []
        var room = Self.longestSnapshot
        while true {
            let cursor = pages.last?.cursor.map { "?cursor=\(PercentEncoding.encode($0))" } ?? ""
            var request = ServiceRequest("GET", "\(path)/snapshot\(cursor)")
            request.longestAnswer = min(Self.longestSnapshotPage, room)
            let (response, token) = try await answer(to: request)
            room -= response.body.count
            do {
                let page = try SnapshotPage(response.body)
                if let last = pages.last, !page.follows(last) || room <= 0 {
                    throw WireFault("the pages of the snapshot do not end")
                }
                pages.append(page)
            } catch {
                throw ClientError(fault: error)
            }
            if pages.last?.cursor == nil { return Snapshot(pages: pages, token: token) }
        }
    }

    /// A page has up to 10,000 items, 200 of them with their contents.
    private static let longestSnapshotPage = 96 << 20
    /// Half a million items, about.
    private static let longestSnapshot = 256 << 20
}

extension ClientError {
    /// Whether the service does not know the offset, or no longer has what it names.
    fileprivate var concernsOffset: Bool { status == 410 || status == 400 && code == "invalid" }

    /// How long the server asks to wait, a day at most.
    var askedMilliseconds: Int64 { WireSeconds(retryAfter)?.waitMilliseconds ?? 0 }

    init(fault: any Error) {
        self.init(
            group: .server, code: "interrupted", message: "the answer cannot be read: \(fault)", mayPass: true)
    }

    init(storage error: any Error) {
        let failure = error as? DeviceFailure
        self.init(
            group: .server, code: failure?.code.rawValue ?? "storage",
            message: "the device's storage failed: \(error)", mayPass: true)
    }
}

extension InboxQuery {
    /// The query of the service's route.
    fileprivate var text: String {
        var fields = ["limit=\(limit)"]
        if let cursor { fields.append("cursor=\(cursor)") }
        switch view {
        case .inbox: break
        case .archived: fields.append("view=archived")
        case .snoozed: fields.append("view=snoozed")
        }
        if filter.includeSilent { fields.append("includeSilent=true") }
        if filter.onlyUnread { fields.append("unread=true") }
        if filter.onlyUnseen { fields.append("unseen=true") }
        if filter.onlyAwaiting { fields.append("awaiting=true") }
        switch filter.thread {
        case .any: break
        case .unthreaded: fields.append("unthreaded=true")
        case .named(let name): fields.append("thread=\(PercentEncoding.encode(name))")
        }
        for category in filter.categories { fields.append("category=\(PercentEncoding.encode(category))") }
        if let level = filter.level { fields.append("level=\(level)") }
        let texts = [
            ("actor", filter.actor), ("since", filter.since?.description), ("until", filter.until?.description),
            ("text", filter.text),
        ]
        for case (let name, let text?) in texts { fields.append("\(name)=\(PercentEncoding.encode(text))") }
        return fields.joined(separator: "&")
    }
}
