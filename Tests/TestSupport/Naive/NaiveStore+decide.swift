import TraylogDomain

/// The rules of Docs/concepts.md: which event a valid command causes now.
extension NaiveStore {
    /// The event's body; nil when nothing would change.
    package func decide(_ command: Command) throws(Refusal) -> Event.Body? {
        guard let user = command.user else { return try decideForEveryone(command) }
        let state = state(of: user)
        switch command.action {
        case .notify(let content):
            return .notified(content)
        case .seeTray(let upTo):
            return try see(upTo, state)
        case .mark(let mark, let references):
            return try self.mark(mark, references, state)
        case .markAll(let mark, let filter, let upTo):
            return .allMarked(mark, filter, upTo: try checked(upTo))
        case .mute(let scope, let until):
            if let mute = state.mute(scope), mute.until == until { return nil }
            return .muted(scope, until: until)
        case .unmute(let scope):
            return state.mute(scope) == nil ? nil : .unmuted(scope)
        case .snooze(let reference, let until):
            let item = try live(reference, state)
            return item.snoozedUntil == until ? nil : .snoozed(item: item.seq, until: until)
        case .wake(let reference):
            let item = try live(reference, state)
            if item.snoozedUntil == nil { throw .notSnoozed(item.seq) }
            return .woken(item: item.seq)
        case .edit(let reference, let edit):
            return try self.edit(try own(reference, state), edit)
        case .retract(let reference):
            return .retracted(item: try own(reference, state).seq)
        case .subscribe(let topic):
            return state.topics.contains(Name(topic)) ? nil : .subscribed(topic: topic)
        case .unsubscribe(let topic):
            return state.topics.contains(Name(topic)) ? .unsubscribed(topic: topic) : nil
        case .undo(let seq):
            return try undo(seq, user)
        case .act(let reference, let action, let note, let asOf):
            return try act(reference, action, note, asOf, state)
        case .broadcast:
            preconditionFailure("not a command of the naive model's users: \(command)")
        }
    }

    private func decideForEveryone(_ command: Command) throws(Refusal) -> Event.Body? {
        switch command.action {
        case .broadcast(let topic, let content):
            return .broadcast(topic: topic, content)
        case .edit(let reference, let edit):
            return try self.edit(try broadcast(reference), edit)
        case .retract(let reference):
            return .retracted(item: try broadcast(reference).seq)
        default:
            preconditionFailure("validation lets no other command without a user through: \(command)")
        }
    }

    /// The event leaves out a time to remind that holds already.
    private func edit(_ item: NaiveItem, _ edit: ContentEdit) throws(Refusal) -> Event.Body? {
        if edit.notBefore != .keep, !item.scheduled { throw .invalid(field: "notBefore", reason: "it has arrived") }
        let edited = item.content.edited(edit)
        if item.content.isUnchanged(in: edited) { return nil }
        try edited.checkTimes()
        var edit = edit
        if edited.remindAt == item.content.remindAt { edit.remindAt = .keep }
        return .edited(item: item.seq, edit)
    }

    private func act(
        _ reference: ItemReference, _ action: String, _ note: String?, _ asOf: Seq?, _ state: NaiveUser
    ) throws(Refusal) -> Event.Body? {
        let item = try live(reference, state)
        guard item.content.actions.contains(where: { Name($0.id) == Name(action) }) else {
            throw .invalid(field: "action", reason: "no such action")
        }
        if let outcome = item.outcome {
            if Name(outcome.action) == Name(action) { return nil }
            throw .alreadyActed(item.seq, action: outcome.action)
        }
        guard let asOf else { return .acted(item: item.seq, action: action, note: note, asOf: head) }
        if asOf > head { throw .upToBeyondHead(asOf, head: head, field: "asOf") }
        if let edited = firstEdit(of: item, after: asOf) {
            throw .changedSince(item.seq, asOf: asOf, edited: edited)
        }
        return .acted(item: item.seq, action: action, note: note, asOf: asOf)
    }

    /// The first edit after `seq` that the log holds, or the arrival, before which nobody saw it.
    private func firstEdit(of item: NaiveItem, after seq: Seq) -> Seq? {
        events.first { event in
            guard event.seq > seq, event.seq >= item.arrival ?? .zero, !dropped.contains(event.seq) else {
                return false
            }
            return switch event.body {
            case .edited(item.seq, _), .arrived(item.seq, _, _, _, _): true
            default: false
            }
        }?.seq
    }

    private func see(_ given: Seq?, _ state: NaiveUser) throws(Refusal) -> Event.Body? {
        let upTo = try checked(given)
        let newest = state.items.filter { !$0.scheduled }.map(\.position).filter { $0 <= upTo }.max()
        guard let newest, newest > state.seenUpTo else { return nil }
        return .traySeen(upTo: newest)
    }

    private func mark(_ mark: Mark, _ references: [ItemReference], _ state: NaiveUser) throws(Refusal) -> Event.Body? {
        var changing: Set<Seq> = []
        for reference in references {
            let item = try find(reference, state)
            var marked = item
            marked.take(mark)
            guard !item.gone, marked != item else { continue }
            if mark == .restored, dropped.contains(item.seq) { throw compacted }
            changing.insert(item.seq)
        }
        return changing.isEmpty ? nil : .marked(mark, items: changing.sorted())
    }

    private func undo(_ seq: Seq, _ user: String) throws(Refusal) -> Event.Body? {
        if seq > .zero, seq < floor { throw compacted }
        if seq > .zero, seq < nextFloor { throw .compacted(floor: nextFloor, archive: nil) }
        guard let event = event(seq), Name(event.user) == Name(user) else { throw .unknownEvent(seq) }
        switch event.kind {
        case .traySeen, .marked, .allMarked: return isVoided(seq) ? nil : .undone(event: seq)
        default: throw .notUndoable(seq, kind: event.kind)
        }
    }
}

// MARK: - What commands name

extension NaiveStore {
    /// The position given, or the head.
    private func checked(_ upTo: Seq?) throws(Refusal) -> Seq {
        guard let upTo else { return head }
        if upTo > head { throw .upToBeyondHead(upTo, head: head) }
        return upTo
    }

    func find(
        _ reference: ItemReference, _ state: NaiveUser, orScheduled: Bool = false
    ) throws(Refusal) -> NaiveItem {
        let seq: Seq? =
            switch reference {
            case .seq(let seq): seq
            case .key(let key): notified(key, of: state.name.text)
            }
        guard let seq, let item = state.item(seq), orScheduled || !item.scheduled else { throw .unknownItem(reference) }
        return item
    }

    private func live(_ reference: ItemReference, _ state: NaiveUser) throws(Refusal) -> NaiveItem {
        let item = try find(reference, state)
        if !item.isLive { throw .itemGone(item.seq) }
        return item
    }

    /// An item notified to this user, which the publisher can still change; deleted ones, too.
    private func own(_ reference: ItemReference, _ state: NaiveUser) throws(Refusal) -> NaiveItem {
        let item = try find(reference, state, orScheduled: true)
        if dropped.contains(item.seq) { throw item.gone ? .itemGone(item.seq) : compacted }
        if item.topic != nil { throw .unknownItem(reference) }
        if item.gone { throw .itemGone(item.seq) }
        return item
    }

    private func broadcast(_ reference: ItemReference) throws(Refusal) -> NaiveItem {
        if case .seq(let seq) = reference, dropped.contains(seq) { throw compacted }
        guard case .seq(let seq) = reference, let item = broadcasts().first(where: { $0.seq == seq }) else {
            throw .unknownItem(reference)
        }
        if item.gone { throw .itemGone(seq) }
        return item
    }

    /// All broadcasts as they are for everyone: edited and gone, but without anybody's marks.
    package func broadcasts() -> [NaiveItem] {
        var items: [NaiveItem] = []
        for event in events where event.user == nil {
            if case .broadcast(let topic, let content) = event.body {
                items.append(NaiveItem(event, content, topic: topic))
            }
            for place in items.indices {
                switch event.body {
                case .edited(items[place].seq, let edit): items[place].take(edit)
                case .arrived(items[place].seq, _, _, _, let content): items[place].arrive(event, content)
                case .reminded(items[place].seq): items[place].reminded = true
                case .retracted(items[place].seq), .expired(items[place].seq): items[place].gone = true
                default: break
                }
            }
        }
        return items
    }

    package func topic(of seq: Seq) -> String? {
        guard case .broadcast(let topic, _) = event(seq)?.body else { return nil }
        return topic
    }
}
