import TraylogAudit
import TraylogDomain
@_spi(Operations) import TraylogEvidence
import TraylogQueries
import TraylogStates

@_spi(Operations) extension BlockingQueries {
    /// The story of an item with proofs that lead to the tree of the life's moment.
    ///
    /// - Parameter life: as ``life(of:of:asOf:including:)`` answers it.
    /// - Throws: ``TraylogError``: refused `compacted` where an event of the story has left the log; failed, also `damaged` where an
    ///   event hides who had muted the item.
    /// - Complexity: as ``story(of:)``.
    @available(*, noasync, message: "use `await store.provedStory`; this call blocks a thread that tasks share")
    public func provedStory(of life: ItemLife) throws(TraylogError) -> StoryRecord {
        let (user, item) = (life.user, life.item.seq)
        let (all, start, gap, damage) = try storyEvents(of: life)
        if let damage { throw damage }
        let wanted = ItemStory(of: life.item, user: user, events: all, from: start, gap: gap)
        let floor = try statistics(checkingStates: false).floor
        var seqs = Set(wanted.events)
        let arrival = wanted.clauses.first { $0.topic == .arrival }?.event ?? item
        if let topic = life.item.topic, let event = try subscription(of: user, to: topic, before: arrival) {
            seqs.insert(event)
        }
        var proved = try provedBy(item, user, seqs, as: wanted)
        let further: [() -> [Seq]] = [
            // A mute that took the place of another one began with that.
            {
                let voided = Set(all.compactMap { if case .undone(let seq) = $0.body { seq } else { nil } })
                let others = all.filter { !voided.contains($0.seq) }
                return ItemFold.chain(ofMutes: others, to: wanted.clauses.first { $0.topic == .quiet }?.event)
            },
            // Until something was undone, the item may have been as other events made it.
            { ItemFold.changes(of: life.item, user: user, all.filter { $0.seq >= arrival }).map(\.seq) },
            {
                let later = all.filter { $0.seq > arrival }
                let concerning = Set(
                    later.filter { $0.mayConcern(item, collapseKey: life.item.content.collapseKey) }.map(\.seq))
                let undos = later.filter {
                    if case .undone(let seq) = $0.body { concerning.contains(seq) } else { false }
                }
                return concerning + undos.map(\.seq)
            },
        ]
        for more in further where proved == nil {
            seqs.formUnion(more())
            proved = try provedBy(item, user, seqs, as: wanted)
        }
        guard let proved else {
            let refusal = try queries.answer { $0.record.floor.refusal }
            throw .refused(
                floor > .zero
                    ? refusal : .invalid(field: "item", reason: "has a story that its events alone do not tell"))
        }
        let moment = Moment.seq(life.asOf)
        var proofs: [(EventProof, EventDisclosure)] = []
        for event in proved.events {
            let proof = try proof(of: event.seq, asOf: moment)
            guard proof.leaf != nil, let disclosure = try disclosure(of: event.seq) else {
                throw .refused(.invalid(field: "item", reason: "has event \(event.seq), which was erased"))
            }
            proofs.append((proof, disclosure))
        }
        return StoryRecord(proved, proofs, in: try treeHead(asOf: moment))
    }

    /// The story of some events; nil where it is not the one that the store tells.
    private func provedBy(
        _ item: Seq, _ user: String, _ seqs: Set<Seq>, as wanted: ItemStory
    ) throws(TraylogError) -> ProvedStory? {
        var events: [Event] = []
        for seq in seqs.sorted() { events.append(try event(seq)) }
        guard let proved = try? ProvedStory(of: item, user: user, telling: events) else { return nil }
        return proved.story == wanted ? proved : nil
    }

    private func subscription(of user: String, to topic: String, before item: Seq) throws(TraylogError) -> Seq? {
        var next: Seq? = item
        let filter = EventFilter(user: user, kinds: [.subscribed])
        repeat {
            let page = try events(matching: filter, newestFirst: true, from: next)
            let found = page.elements.first { event in
                guard case .subscribed(let name, _) = event.body else { return false }
                return event.seq < item && name.hasSameBytes(as: topic)
            }
            if let found { return found.seq }
            next = page.next
        } while next != nil
        return nil
    }
}

@_spi(Operations) extension TrayQueries {
    /// The same, while the task waits.
    ///
    /// ```swift
    /// let life = try await store.life(of: .seq(17), of: "ann")
    /// let page = try await store.provedStory(of: life).page(signedBy: try NotePrivateKey(name: "trays.example.org"))
    /// ```
    public func provedStory(of life: ItemLife) async throws(TraylogError) -> StoryRecord {
        try await asking(atLength: true) { store throws(TraylogError) in try store.provedStory(of: life) }
    }
}
