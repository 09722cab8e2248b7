import TraylogAudit
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
        let head = TreeHead(size: size, root: root)
        guard let known = meta.treeHead else { return keep(head, isConsistent: true) }
        guard head != known else { return }
        // A node of a cluster may be behind the one that answered before. If the log was cut, or stays shorter, the next
        // longer tree head shows it.
        guard head.size >= known.size || wasCut else { return }
        guard head.size > known.size else { return keep(known, isConsistent: false) }
        let request = ServiceRequest("GET", "/v1/proofs/consistency?first=\(known.size)&second=\(head.size)")
        let replicas = replicas
        let response = try await session.perform(request)
        guard replicas == self.replicas else { return }
        do {
            let fields = try WireObject(response.body)
            let path = try fields.strings("path").map { text in
                guard let hash = MerkleHash(hex: text) else { throw WireFault("path has no hashes") }
                return hash
            }
            let proof = ConsistencyProof(first: known.size, second: head.size, path: path)
            let isConsistent = proof.proves(from: known, to: head)
            keep(isConsistent ? head : known, isConsistent: isConsistent)
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
