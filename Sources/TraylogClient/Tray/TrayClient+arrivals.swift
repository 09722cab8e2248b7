@_spi(Witness) import TraylogAudit
@_spi(Wire) import TraylogDomain
@_spi(Replication) import TraylogReplica

extension TrayClient {
    /// The changes in an answer that the user should be told about.
    struct News {
        var arrivals: [Arrival] = []
        var withdrawn: [Seq] = []
    }

    /// New items that are still unseen, and presented items that are over; noted in `meta`, so that nothing
    /// is reported twice, even after a restart.
    func news(_ items: [Seq], _ replica: TrayReplica, _ meta: inout ReplicaMeta) -> News {
        var news = News()
        for seq in items where seq > meta.arrivedThrough {
            meta.arrivedThrough = seq
            guard let item = try? replica.item(.seq(seq)), item.isInInbox, !item.isSeen, !item.isRead else { continue }
            let presentation = options.presentation(item, isForeground)
            news.arrivals.append(Arrival(item: item, presentation: presentation))
            if presentation.contains(.alert) { meta.presented.append(seq) }
        }
        news.withdrawn = meta.presented.filter { seq in
            guard let item = try? replica.item(.seq(seq)) else { return true }
            return item.isRead || !item.isInInbox
        }
        let over = Set(news.withdrawn)
        meta.presented = meta.presented.filter { !over.contains($0) }.suffix(Self.presentedLimit)
        return news
    }

    /// Systems keep no more notifications than that.
    private static let presentedLimit = 256

    func tell(_ news: News) {
        if !news.arrivals.isEmpty { arrivalListeners.tellAgain(news.arrivals) }
        if !news.withdrawn.isEmpty { withdrawalListeners.tellAgain(news.withdrawn) }
    }

    // MARK: Witness

    /// Compares a tree head of the server with the newest one that is kept here.
    ///
    /// - Parameter text: `SIZE:ROOT`.
    func witness(_ text: String) async throws(ClientError) {
        let parts = text.split(separator: ":")
        guard parts.count == 2, let size = WireNumber(parts[0])?.within(0...Seq.highest),
            let root = MerkleHash(hex: String(parts[1])), let meta
        else { throw ClientError(fault: WireFault("Traylog-Tree-Head is no tree head")) }
        // A node of a cluster may be behind the one that answered before. If the log was cut, or stays shorter, the next
        // longer tree head shows it.
        if let known = meta.treeHead, size < known.size { return wasCut ? keep(known, isConsistent: false) : () }
        try await compare(TreeHead(size: size, root: root))
    }

    /// The tree head that a quorum of witnesses has seen; nil where none is asked for.
    ///
    /// - Throws: ``ClientError`` `unwitnessed` where the server shows none.
    func witnessedHead() async throws(ClientError) -> TreeHead? {
        guard let policy else { return nil }
        var request = ServiceRequest("GET", "/v1/checkpoint")
        request.headers["Accept"] = "text/plain"
        let response = try await session.perform(request)
        let now = UInt64(clamping: clock.now.milliseconds / 1_000)
        do throws(NoteError) {
            guard let text = String(validating: response.body, as: UTF8.self) else {
                throw .malformedNote("it is not UTF-8")
            }
            let seen = try policy.check(try SignedNote(parsing: text), now: now)
            let head = seen.checkpoint.head
            guard head.size <= Seq.highest else { throw .malformedNote("no log has so many events") }
            if let limit = options.witnessAgeLimit, head.size < meta?.treeHead?.size ?? 0 {
                let age = now > seen.lastSeen ?? 0 ? now - (seen.lastSeen ?? 0) : 0
                guard age <= UInt64(limit) else {
                    throw .malformedNote("its youngest cosignature is \(age) s old, and the log has newer events")
                }
            }
            witnessedAt = clock.uptime
            return head
        } catch {
            throw ClientError(
                group: .server, code: "unwitnessed",
                message: "nothing is taken from the server: its checkpoint does not count: \(error.description)",
                mayPass: true, retryAfter: 30, status: 503)
        }
    }

    /// Compares what witnesses have seen with the tree head that is kept here, and refuses a log that differs.
    func takeWitnessed(_ head: TreeHead) async throws(ClientError) {
        guard meta != nil else { return }
        try await compare(head)
        if meta?.isInconsistent == true { throw .inconsistent }
    }

    /// Asks for the proof that a tree head and the one that is kept here are of one log, and keeps the larger one.
    private func compare(_ head: TreeHead) async throws(ClientError) {
        guard let known = meta?.treeHead else { return keep(head, isConsistent: true) }
        guard head != known else { return }
        guard head.size != known.size else { return keep(known, isConsistent: false) }
        let (old, new) = head.size < known.size ? (head, known) : (known, head)
        let request = ServiceRequest("GET", "/v1/proofs/consistency?first=\(old.size)&second=\(new.size)")
        let replicas = replicas
        let response: ServiceResponse
        do throws(ClientError) {
            response = try await session.perform(request)
        } catch {
            // The log has lost events that this device has seen.
            guard ["rewound", "upToBeyondHead"].contains(error.code), replicas == self.replicas else { throw error }
            return keep(known, isConsistent: false)
        }
        guard replicas == self.replicas else { return }
        do {
            let fields = try WireObject(response.body)
            let path = try fields.strings("path").map { text in
                guard let hash = MerkleHash(hex: text) else { throw WireFault("path has no hashes") }
                return hash
            }
            let proof = ConsistencyProof(first: old.size, second: new.size, path: path)
            let isConsistent = proof.proves(from: old, to: new)
            keep(isConsistent ? new : known, isConsistent: isConsistent)
        } catch {
            throw ClientError(fault: error)
        }
    }

    private func keep(_ head: TreeHead, isConsistent: Bool) {
        guard var meta else { return }
        meta.treeHead = head
        meta.isInconsistent = meta.isInconsistent || !isConsistent
        self.meta = meta
        save(meta)
        updateStatus()
    }
}

extension Item {
    /// Whether it is neither deleted, gone, archived nor snoozed.
    fileprivate var isInInbox: Bool { !isDeleted && !isGone && !isArchived && !isSnoozed }
}
