import TraylogDomain
import TraylogReplica

extension TrayClient {
    // MARK: Triggers

    /// Asks the server what is new.
    ///
    /// Any number of calls while a request is under way make no other one.
    ///
    /// ```swift
    /// await client.refresh(.pull)
    /// ```
    public func refresh(_ trigger: RefreshTrigger) {
        guard !isClosed, activity != .erased else { return }
        if trigger == .foreground { isForeground = true }
        retry?.cancel()
        retry = nil
        refreshFailures = 0
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
        guard !Task.isCancelled, !isClosed else { return }
        refreshing = nil
        if let failure { failed(failure) } else { startLive() }
        // What was sent meanwhile may not have been in the answer.
        if failure == nil, !isLive, marks.contains(where: { $0.receipt != nil }) { startRefresh() }
        updateStatus()
    }

    /// After an error, again after 1, 2 and 4 seconds, and then at the next trigger.
    func failed(_ error: ClientError) {
        lastError = error
        switch (error.group, error.code) {
        case (.connectivity, "offline"):
            outbox.here { $0.goOffline() }
        case (.authentication, _):
            awaitCredentials()
        default:
            setActivity(.failing)
            guard refreshFailures < 3, error.mayPass else { return }
            let asked = error.retryAfter.map { Int64(min($0, 86_400) * 1_000) } ?? 0
            let deadline = clock.uptime + max(1_000 << Int64(refreshFailures), asked)
            refreshFailures += 1
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
        guard credentials == nil else { return }
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

    /// Something answered with success.
    private func succeeded() {
        lastError = nil
        refreshFailures = 0
        credentials?.cancel()
        credentials = nil
        outbox.here { $0.reached() }
        if activity != .erased { activity = .syncing }
    }

    func connectionChanged(_ isOnline: Bool) {
        guard isOnline else {
            refreshing?.cancel()
            refreshing = nil
            live?.cancel()
            (live, isLive) = (nil, false)
            if activity == .failing { activity = .syncing }
            return
        }
        startRefresh()
    }

    // MARK: Changes

    /// Folds in everything up to the server's head; fetches a snapshot where that is not possible.
    func bringUpToDate() async throws(ClientError) {
        if confirmed == nil || isDamaged { try await reload() }
        var snapshots = 0
        while let meta, !isClosed {
            let start = entityTag?.offset ?? meta.offset
            var request = ServiceRequest("GET", "\(path)/changes?offset=\(ServiceRequest.encode(start))")
            request.headers["If-None-Match"] = entityTag?.tag
            if options.witness { request.headers["Prefer"] = "tree-head" }
            let response: ServiceResponse
            do throws(ClientError) {
                response = try await session.perform(request)
            } catch {
                // A server that refuses what it has just given out will not change its mind.
                snapshots += 1
                guard snapshots < 3 else { throw error }
                try await recover(from: error)
                continue
            }
            succeeded()
            let next = response.headers["stream-next-offset"] ?? start
            let isAtHead = response.headers["stream-up-to-date"] == "true" || response.status == 304
            if response.status != 304 {
                entityTag = nil
                let events: [[UInt8]]
                do { events = try WireObject.elements(response.body) } catch { throw ClientError(fault: error) }
                guard try await take(events, next) else { continue }
                if events.isEmpty, isAtHead { entityTag = response.headers["etag"].map { (start, $0) } }
            } else {
                _ = try await take([], next)
            }
            if let head = response.headers["traylog-tree-head"] { try await witness(head) }
            if isAtHead { return }
        }
    }

    var path: String { "/v1/users/\(ServiceRequest.encode(user))" }

    /// - Throws: the error, when a snapshot does not help.
    func recover(from error: ClientError) async throws(ClientError) {
        switch (error.status, error.code) {
        case (410, "erased"):
            erase()
            throw error
        case (410, _), (400, "invalid"): try await reload()
        default: throw error
        }
    }

    /// Folds events in and stores them, with where `changes` goes on.
    ///
    /// - Returns: false when a snapshot took their place.
    func take(_ texts: [[UInt8]], _ next: String) async throws(ClientError) -> Bool {
        guard var replica = confirmed, var meta, let through = ReplicaMeta.seq(of: next) else {
            throw ClientError(fault: WireFault("Stream-Next-Offset is no offset"))
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
            try await reload()
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
            try await reload()
            return false
        }
        (confirmed, self.meta) = (replica, meta)
        dropConfirmed()
        rebuild()
        tell(news)
        return true
    }

    // MARK: Snapshots

    /// Fetches a snapshot and puts it in the place of the replica.
    ///
    /// What is shown stays until then, and pending marks stay.
    func reload() async throws(ClientError) {
        if confirmed != nil { setActivity(.reloading) }
        if isDamaged {
            // Pages that cannot be read cannot be replaced one by one either.
            do { try store.storage.storage.discardReplica() } catch { throw ClientError(storage: error) }
        }
        var pages: [SnapshotPage] = []
        repeat {
            let cursor = pages.last?.cursor.map { "?cursor=\(ServiceRequest.encode($0))" } ?? ""
            let response = try await session.perform(ServiceRequest("GET", "\(path)/snapshot\(cursor)"))
            do { pages.append(try SnapshotPage(response.body)) } catch { throw ClientError(fault: error) }
        } while pages.last?.cursor != nil && !isClosed
        guard !isClosed, let first = pages.first else { return }
        let asOf = first.snapshot.asOf
        // Another store, or the same one from before: what was confirmed there says nothing here.
        let goesOn = meta.map { $0.store == first.store && asOf >= $0.through } ?? false
        var new = ReplicaMeta(
            user: user, store: first.store, offset: first.offset, through: asOf, secret: ReplicaMeta.newSecret(),
            arrivedThrough: goesOn ? meta?.arrivedThrough ?? asOf : asOf)
        if let meta {
            (new.treeHead, new.isInconsistent) = (meta.treeHead, meta.isInconsistent)
            new.presented = goesOn ? meta.presented : []
            new.shownThrough = min(meta.shownThrough, asOf)
        }
        do {
            let items = pages.flatMap { $0.snapshot.items.map(\.item.seq) }.filter { $0 > new.arrivedThrough }
            let replica = try TrayReplica(pages.map(\.snapshot), hasher: new.hasher)
            let news = news(items.sorted(), replica, &new)
            do {
                confirmed = try store.replace(by: pages.map(\.snapshot), new)
            } catch {
                noteDamage(error)
                throw error
            }
            (meta, entityTag, isDamaged) = (new, nil, false)
            succeeded()
            if !goesOn { marks.removeAll { $0.receipt != nil } }
            dropConfirmed()
            rebuild()
            tell(news)
        } catch {
            throw ClientError(storage: error)
        }
    }

    /// Reads or writes the stored replica; one that is damaged is fetched anew.
    ///
    /// - Throws: the error, a refusal by the replica as ``Refusal``.
    func reading<Answer>(_ body: () throws -> Answer) throws -> Answer {
        do {
            return try body()
        } catch {
            if case .refused(let refusal)? = error as? TrayReplicaError { throw refusal }
            if noteDamage(error) { refresh(.trayVisible) }
            throw error
        }
    }

    /// Remembers that the replica has to be fetched anew, if an error says so.
    @discardableResult
    func noteDamage(_ error: any Error) -> Bool {
        switch error {
        case let failure as DeviceFailure: isDamaged = isDamaged || failure.code == .damaged
        case TrayReplicaError.damaged, TrayReplicaError.unknownEvent: isDamaged = true
        default: break
        }
        return isDamaged
    }

    /// The user was erased: nothing of the user stays on the device.
    func erase() {
        setActivity(.erased)
        (confirmed, shown, meta, marks, entityTag) = (nil, nil, nil, [], nil)
        live?.cancel()
        wantsLive = false
        do {
            try outbox.here { try $0.logOut() }
        } catch {
            lastError = ClientError(storage: error)
        }
        tellTray()
    }

    // MARK: Contents

    /// Asks for contents that are not kept here.
    ///
    /// Without an answer the items are shown without.
    func fetchContents(_ items: [Seq], _ query: InboxQuery?) async {
        guard mayAsk, let replica = confirmed else { return }
        var missing = Set(items)
        var found: [Item] = []
        if let query, let response = try? await session.perform(ServiceRequest("GET", "\(path)/inbox?\(query.text)")),
            let elements = try? WireObject(response.body).elements("items")
        {
            found = elements.compactMap { try? Item(wire: WireObject($0)) }.filter { missing.remove($0.seq) != nil }
        }
        for seq in missing.sorted() {
            guard let response = try? await session.perform(ServiceRequest("GET", "\(path)/items/\(seq)")) else {
                continue
            }
            let fields = try? WireObject(response.body)
            if let item = (try? fields?.object("item")) ?? fields, let item = try? Item(wire: item) {
                found.append(item)
            }
        }
        do {
            try store.add(found, to: replica)
        } catch {
            lastError = ClientError(storage: error)
        }
    }
}

extension ClientError {
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
        if includeSilent { fields.append("includeSilent=true") }
        if onlyUnread { fields.append("unread=true") }
        if onlyUnseen { fields.append("unseen=true") }
        switch thread {
        case .any: break
        case .unthreaded: fields.append("unthreaded=true")
        case .named(let name): fields.append("thread=\(ServiceRequest.encode(name))")
        }
        if let category { fields.append("category=\(ServiceRequest.encode(category))") }
        return fields.joined(separator: "&")
    }
}
