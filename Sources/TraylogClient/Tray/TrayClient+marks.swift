import TraylogDomain
@_spi(Replication) import TraylogReplica

/// An entry that the view may have to show on top of what is confirmed.
struct PendingMark: Sendable {
    var id: String
    var action: UserAction
    var createdAt: Timestamp
    /// Nil until it was sent.
    var receipt: ActionReceipt?
}

extension TrayClient {
    static let marksLane = "marks"

    // MARK: What a user may do

    /// Records that the user looked at the tray: everything that was shown is seen.
    ///
    /// ```swift
    /// try await client.see()
    /// ```
    ///
    /// - Parameter upTo: the newest position that was on the screen; all that this client shows when nil.
    /// - Returns: the entry of the outbox.
    @discardableResult
    public func see(upTo: Seq? = nil) throws(TrayClientRefusal) -> OutboxEntry {
        try perform(.seeTray(upTo: try bound(upTo)))
    }

    /// Marks 1 to 1,000 items.
    ///
    /// ```swift
    /// try await client.mark(.read, [.seq(item.seq)])
    /// ```
    @discardableResult
    public func mark(_ mark: Mark, _ items: [ItemReference]) throws(TrayClientRefusal) -> OutboxEntry {
        try perform(.mark(mark, items))
    }

    /// Marks all matching items that were shown.
    ///
    /// ```swift
    /// try await client.markAll(.read, ItemFilter(thread: "ci"))
    /// ```
    @discardableResult
    public func markAll(
        _ mark: BulkMark, _ filter: ItemFilter = ItemFilter(), upTo: Seq? = nil
    ) throws(TrayClientRefusal) -> OutboxEntry {
        _ = try valid(Command(user: user, .markAll(mark, filter, upTo: upTo)))
        return try perform(.markAll(mark, filter, upTo: bound(upTo)))
    }

    /// Hides an item until a time.
    ///
    /// ```swift
    /// try await client.snooze(.seq(item.seq), until: .now + .seconds(3_600))
    /// ```
    @discardableResult
    public func snooze(_ item: ItemReference, until: Timestamp) throws(TrayClientRefusal) -> OutboxEntry {
        try perform(.snooze(item, until: until))
    }

    /// Ends an item's snooze.
    @discardableResult
    public func wake(_ item: ItemReference) throws(TrayClientRefusal) -> OutboxEntry { try perform(.wake(item)) }

    /// Mutes a thread, a category, a topic or everything: items that arrive from now on are not counted.
    ///
    /// ```swift
    /// try await client.mute(.all, until: .now + .seconds(3_600))
    /// ```
    ///
    /// - Parameter until: the time when the mute ends by itself; when nil, only ``unmute(_:)`` ends it.
    @discardableResult
    public func mute(_ scope: MuteScope, until: Timestamp? = nil) throws(TrayClientRefusal) -> OutboxEntry {
        try perform(.mute(scope, until: until))
    }

    /// Ends a mute; items that arrived meanwhile stay uncounted.
    @discardableResult
    public func unmute(_ scope: MuteScope) throws(TrayClientRefusal) -> OutboxEntry { try perform(.unmute(scope)) }

    /// Chooses, once, one of an item's actions, and marks the item as read.
    ///
    /// If another device chose a different action before, the entry fails, `alreadyActed`; if the publisher edited the item after
    /// `asOf`, it fails, `changedSince`: show the item again, and let the user answer anew.
    ///
    /// ```swift
    /// let page = try await client.inbox()
    /// try await client.act(.seq(page.elements[0].seq), action: "approve", asOf: page.asOf)
    /// ```
    ///
    /// - Parameter asOf: ``Page/asOf`` of what was on the screen; all that this client shows when nil.
    @discardableResult
    public func act(
        _ item: ItemReference, action: String, note: String? = nil, asOf: Seq? = nil
    ) throws(TrayClientRefusal) -> OutboxEntry {
        try perform(.act(item, action: action, note: note, asOf: bound(asOf)))
    }

    /// If the server allows users to do so.
    @discardableResult
    public func subscribe(to topic: String) throws(TrayClientRefusal) -> OutboxEntry {
        try perform(.subscribe(topic: topic))
    }

    /// If the server allows users to do so.
    ///
    /// Received items stay.
    @discardableResult
    public func unsubscribe(from topic: String) throws(TrayClientRefusal) -> OutboxEntry {
        try perform(.unsubscribe(topic: topic))
    }

    /// Takes back a user's action: an unsent entry is removed; if it was sent, is under way, or may have
    /// arrived without an answer, an undo is queued behind it.
    ///
    /// ```swift
    /// let entry = try await client.mark(.deleted, [.seq(item.seq)])
    /// try await client.undo(entry.id)
    /// ```
    ///
    /// - Returns: the id of the removed entry, or of the new one.
    @discardableResult
    public func undo(_ id: String) throws(TrayClientRefusal) -> String {
        guard let entry = outbox.here({ $0.entry(id) }) else {
            throw .outbox(.unknownEntry(id))
        }
        let isMaybeThere = entry.lane == Self.marksLane && entry.mayHaveArrived
        guard entry.state == .queued || entry.state == .failed, !isMaybeThere else {
            // For an entry that failed without an answer, its key leads to its event, if there is one; until then it is not shown.
            isQuiet = true
            defer {
                isQuiet = false
                tellTray()
            }
            if entry.state == .failed { try change { (outbox) throws(OutboxRefusal) in try outbox.resend(id) } }
            return try enqueue(.undo(entry: id), lane: Self.marksLane).id
        }
        try change { (outbox) throws(OutboxRefusal) in try outbox.discard(id) }
        return id
    }

    private func change(
        _ body: @Sendable (isolated Outbox) throws(OutboxRefusal) -> Void
    ) throws(TrayClientRefusal) {
        do throws(OutboxRefusal) { try outbox.here(body) } catch { throw .outbox(error) }
    }

    /// Sends an item to another user; the token needs the scope `publish`.
    ///
    /// ```swift
    /// try await client.send(to: "bob", Content(title: "Lunch?"))
    /// ```
    ///
    /// - Parameters:
    ///   - path: a file to upload first; the item's `data.attachment` then has its address, size and SHA-256.
    @discardableResult
    public func send(
        to other: String, _ content: Content, lane: String = "text", attachment path: String? = nil
    ) throws(TrayClientRefusal) -> OutboxEntry {
        let command = Command(
            user: other, .notify(content), occurredAt: clock.now, actor: user, device: options.device)
        return try enqueue(.command(try valid(command)), lane: lane, attachment: path)
    }

    func perform(_ action: Command.Action) throws(TrayClientRefusal) -> OutboxEntry {
        let command = Command(user: user, action, occurredAt: clock.now, device: options.device)
        return try enqueue(.command(try valid(command)), lane: Self.marksLane)
    }

    private func valid(_ command: Command) throws(TrayClientRefusal) -> Command {
        do {
            try command.validate()
            return command
        } catch {
            throw .refused(error)
        }
    }

    /// The shown tray is the confirmed one.
    private func bound(_ shown: Seq?) throws(TrayClientRefusal) -> Seq {
        guard activity != .erased else { throw .erased }
        guard let through = confirmed?.through else { throw .notLoaded }
        return min(shown ?? through, through)
    }

    private func enqueue(
        _ action: UserAction, lane: String, attachment path: String? = nil
    ) throws(TrayClientRefusal) -> OutboxEntry {
        guard activity != .erased else { throw .erased }
        do throws(OutboxRefusal) {
            return try outbox.here { (outbox) throws(OutboxRefusal) in
                try outbox.enqueue(action.payload, lane: lane, attachment: path)
            }
        } catch {
            throw .outbox(error)
        }
    }

    // MARK: The outbox's changes

    func outboxChanged(_ change: Outbox.Change) {
        guard !isClosed else { return }
        switch change {
        case .entry(let entry): entryChanged(entry)
        case .discarded(let entry):
            guard entry.lane == Self.marksLane else { break }
            marks.removeAll { $0.id == entry.id }
            rebuild()
        case .connection(let isOnline, let reason): connectionChanged(isOnline, reason)
        case .authenticationRequired: awaitCredentials()
        case .storageFailed(let failure): report(failure)
        }
        tellTray()
        updateStatus()
    }

    private func entryChanged(_ entry: OutboxEntry) {
        guard entry.lane == Self.marksLane else { return }
        let place = marks.lastIndex { $0.id == entry.id }
        switch entry.state {
        case .queued:
            // A new one comes last; one that goes back to the queue keeps its place.
            guard place == nil, let mark = PendingMark(entry) else { return }
            marks.append(mark)
            if case .undo = mark.action { rebuild() } else { predict(mark) }
        case .synced:
            guard let place else { return }
            marks[place].receipt = ActionReceipt(entry.receipt)
            dropConfirmed()
            if !isLive { refresh(.idle) }
        case .failed:
            // Listed, but neither pending nor shown.
            guard let place else { return }
            marks.remove(at: place)
            rebuild()
        default: break
        }
    }

    /// Reads the unconfirmed entries from the outbox.
    func collectMarks() {
        let entries = outbox.here { $0.state.inOrderOfSending }
        marks = entries.filter { $0.lane == Self.marksLane && $0.state != .failed }.compactMap(PendingMark.init)
        // An entry that changed nothing, in a log that was cut since, has nothing to show, and its answer names no seq of this log.
        marks.removeAll { mark in mark.receipt.map { $0.seq == nil && meta?.bounds[mark.id] != nil } ?? false }
        dropConfirmed()
    }

    /// Whether an entry that was sent is still shown on top, or may be undone by one that waits.
    func isNeeded(_ entry: OutboxEntry) -> Bool {
        marks.contains { mark in
            if mark.id == entry.id { return true }
            if case .undo(let undone) = mark.action { return undone == entry.id && mark.receipt == nil }
            return false
        }
    }

    // MARK: The view

    /// Removes entries from the overlay that the replica has by now.
    func dropConfirmed() {
        let through = confirmed?.through ?? .zero
        let before = marks.count
        // An undo leaves together with its target, so that neither shows alone.
        var kept: Set<String> = []
        for mark in marks where !mark.isConfirmed(through) {
            if case .undo(let undone) = mark.action { kept.insert(undone) }
        }
        marks.removeAll { $0.isConfirmed(through) && !kept.contains($0.id) }
        if marks.count != before { rebuild() }
    }

    /// Decides all pending marks on top of the confirmed state, with the domain's rules.
    func rebuild() {
        shown = confirmed
        var undone: Set<String> = []
        for mark in marks {
            if case .undo(let id) = mark.action { undone.insert(id) }
        }
        let through = confirmed?.through ?? .zero
        for mark in marks {
            if undone.contains(mark.id), !mark.isConfirmed(through) { continue }
            predict(mark)
        }
        tellTray()
    }

    private func predict(_ mark: PendingMark) {
        guard !mark.isConfirmed(confirmed?.through ?? .zero) else { return }
        switch mark.action {
        case .command(let command):
            guard let command = current(command, of: mark.id) else { return }
            _ = try? shown?.predict(command, at: mark.createdAt)
        case .undo(let id):
            // To undo something that the replica does not have, leave it out.
            guard let target = marks.first(where: { $0.id == id })?.receipt ?? receipt(of: id), let seq = target.seq,
                let confirmed, seq <= confirmed.through, current(.undo(seq, of: user), of: id) != nil
            else { return }
            _ = try? shown?.predict(.undo(seq, of: user), at: mark.createdAt)
        }
    }

    /// What a command from before a cut of the server's log means now: of the items that it names, and of those up to
    /// its position, the ones that were surely there before and after.
    ///
    /// Nil when it means nothing.
    func current(_ command: Command, of id: String) -> Command? {
        guard let bound = meta?.bounds[id] else { return command }
        var command = command
        switch command.action {
        case .seeTray(let upTo):
            guard bound > .zero else { return nil }
            command.action = .seeTray(upTo: min(upTo ?? bound, bound))
        case .markAll(let mark, let filter, let upTo):
            guard bound > .zero else { return nil }
            command.action = .markAll(mark, filter, upTo: min(upTo ?? bound, bound))
        case .mark(let mark, let items):
            let left = items.filter { $0.isAtOrBelow(bound) }
            guard !left.isEmpty else { return nil }
            command.action = .mark(mark, left)
        case .snooze(let item, _), .wake(let item): return item.isAtOrBelow(bound) ? command : nil
        // After the cut nobody can tell whether the item had the text that was shown.
        case .act(let item, _, _, let asOf): return item.isAtOrBelow(bound) && asOf ?? bound <= bound ? command : nil
        case .undo(let event): return event <= bound ? command : nil
        default: break
        }
        return command
    }

    private func receipt(of id: String) -> ActionReceipt? {
        ActionReceipt(outbox.here { $0.entry(id) }?.receipt)
    }

    func tellTray() { if !isQuiet { trayListeners.tell(tray) } }
}

extension PendingMark {
    init?(_ entry: OutboxEntry) {
        guard let action = try? UserAction(entry.payload) else { return nil }
        // A message to another user does not show in this tray, whatever its lane.
        if case .command(let command) = action, case .notify = command.action { return nil }
        self.init(
            id: entry.id, action: action, createdAt: entry.createdAt, receipt: ActionReceipt(entry.receipt))
    }

    /// Whether a replica that is complete through an event has its effect.
    func isConfirmed(_ through: Seq) -> Bool { receipt.map { $0.through <= through } ?? false }
}

extension ItemReference {
    /// A key names its item wherever that stands.
    fileprivate func isAtOrBelow(_ bound: Seq) -> Bool {
        if case .seq(let seq) = self { seq <= bound } else { true }
    }
}
