import TraylogDomain

extension HistoryGenerator {
    private enum Shape {
        case see, mark, markAll, mute, unmute, edit, retract, snooze, wake, subscribe, unsubscribe
        case editBroadcast, retractBroadcast, undo, act
    }

    mutating func fresh(given store: NaiveStore) -> Command {
        if store.events.count < mix.notifiesFirst || random.chance(mix.notifyPercent) {
            if mix.features.contains(.topics), random.chance(20) {
                var content = content()
                content.collapseKey = nil
                return Command(user: nil, .broadcast(topic: random.pick(topics), content))
            }
            return Command(user: user(), .notify(content()))
        }
        let user = user()
        let state = store.state(of: user)
        switch random.pick(weighted: shapes) {
        case .see: return Command(user: user, .seeTray(upTo: upTo(store)))
        case .mark: return Command(user: user, .mark(random.pick(Mark.allCases), references(state, store)))
        case .markAll:
            // Deleting all leaves little to compare, so the others come more often.
            let mark = random.pick(weighted: [(BulkMark.seen, 3), (.read, 3), (.archived, 1), (.deleted, 1)])
            return Command(user: user, .markAll(mark, filter(), upTo: upTo(store)))
        case .mute: return Command(user: user, .mute(scope(), until: muteEnd()))
        case .unmute: return Command(user: user, .unmute(scope()))
        case .edit: return Command(user: user, .edit(reference(state, store), edit(like: state.items.last?.content)))
        case .retract: return Command(user: user, .retract(reference(state, store)))
        case .snooze: return Command(user: user, .snooze(reference(state, store), until: coarse()))
        case .wake: return Command(user: user, .wake(snoozed(state) ?? reference(state, store)))
        case .subscribe: return Command(user: user, .subscribe(topic: random.pick(topics)))
        case .unsubscribe: return Command(user: user, .unsubscribe(topic: random.pick(topics)))
        case .editBroadcast:
            let (reference, content) = broadcast(store)
            return Command(user: nil, .edit(reference, edit(like: content)))
        case .retractBroadcast: return Command(user: nil, .retract(broadcast(store).0))
        case .undo: return Command(user: user, .undo(event: undoable(user, store)))
        case .act: return Command(user: user, act(state, store))
        }
    }

    private var shapes: [(Shape, Int)] {
        var shapes: [(Shape, Int)] = [
            (.see, 8), (.mark, 26), (.markAll, mix.bulkMarkWeight), (.mute, 4), (.unmute, 3), (.edit, 8), (.retract, 4),
            (.act, 6),
        ]
        if mix.features.contains(.snoozes) { shapes += [(.snooze, 8), (.wake, 4)] }
        if mix.features.contains(.topics) {
            shapes += [(.subscribe, 5), (.unsubscribe, 2), (.editBroadcast, 3), (.retractBroadcast, 1)]
        }
        if mix.features.contains(.undo) { shapes.append((.undo, 6)) }
        return shapes
    }

    private mutating func user() -> String { random.chance(mix.heavyPercent) ? users[0] : random.pick(users) }

    /// Times, many of them equal, so that ticks have ties.
    private mutating func coarse() -> Timestamp {
        Timestamp(milliseconds: time(around: 1_000).milliseconds / 500 * 500)
    }

    private mutating func upTo(_ store: NaiveStore) -> Seq? {
        if random.chance(50) { return nil }
        let head = Int(store.head.rawValue)
        return Seq(UInt64(random.chance(6) ? head + random.between(1, 5) : random.between(0, head)))
    }

    private mutating func filter() -> ItemFilter {
        var filter = ItemFilter()
        switch random.below(4) {
        case 0: filter.thread = .unthreaded
        case 1, 2: filter.thread = .named(random.pick(threads + ["thread of nobody"]))
        default: break
        }
        if random.chance(40) { filter.category = random.pick(categories + ["category of nobody"]) }
        return filter
    }

    /// Nil for a mute without an end.
    private mutating func muteEnd() -> Timestamp? {
        mix.features.contains(.ticks) && random.chance(60) ? coarse() : nil
    }

    private mutating func scope() -> MuteScope {
        if random.chance(20) { return .all }
        if mix.features.contains(.topics), random.chance(30) { return .topic(random.pick(topics)) }
        return random.chance(50) ? .thread(random.pick(threads)) : .category(random.pick(categories))
    }
}

extension Timestamp {
    fileprivate func later(_ milliseconds: Int64) -> Timestamp {
        Timestamp(milliseconds: self.milliseconds + milliseconds)
    }
}

// MARK: - Items and events

extension HistoryGenerator {
    /// Usually one of the user's items; otherwise another user's, an unknown one, or an unknown key.
    private mutating func reference(_ state: NaiveUser, _ store: NaiveStore) -> ItemReference {
        if !state.items.isEmpty, random.chance(88) {
            // New items are named more often than old ones.
            let newest = random.chance(50) ? Array(state.items.suffix(5)) : state.items
            let item = random.pick(newest)
            if let key = item.key, item.topic == nil, random.chance(40) { return .key(key) }
            return .seq(item.seq)
        }
        if random.chance(30) { return .key("k\(random.below(1 + store.events.count))") }
        return .seq(Seq(UInt64(random.below(Int(store.head.rawValue) + 3))))
    }

    private mutating func references(_ state: NaiveUser, _ store: NaiveStore) -> [ItemReference] {
        if !state.items.isEmpty, random.chance(4) {
            // Only own items, and many of them: one unknown reference would refuse all.
            let items = state.items.filter { !$0.scheduled }
            if !items.isEmpty { return (0..<random.pick([50, 200, 1_000])).map { _ in .seq(random.pick(items).seq) } }
        }
        var references = (0..<random.between(1, 4)).map { _ in reference(state, store) }
        if random.chance(15) { references.append(references[0]) }
        return references
    }

    private mutating func snoozed(_ state: NaiveUser) -> ItemReference? {
        let snoozed = state.items.filter { $0.snoozedUntil != nil }
        return snoozed.isEmpty || random.chance(30) ? nil : .seq(random.pick(snoozed).seq)
    }

    /// Usually for an item that awaits an answer; some actions are not the item's.
    private mutating func act(_ state: NaiveUser, _ store: NaiveStore) -> Command.Action {
        let asking = state.items.filter { !$0.content.actions.isEmpty && $0.isLive }.suffix(12)
        let item: ItemReference =
            asking.isEmpty || random.chance(20) ? reference(state, store) : .seq(random.pick(Array(asking)).seq)
        return .act(
            item, action: random.pick(Self.actions).id,
            note: random.chance(30) ? random.pick(["", "Not now", "naïve \u{1f44d}"]) : nil,
            asOf: random.chance(50) ? asOf(store.head) : nil)
    }

    /// Usually a state that somebody may still have on the screen.
    private mutating func asOf(_ head: Seq) -> Seq {
        if random.chance(10) { return head + random.below(3) }
        return head - random.below(random.chance(20) ? Int(clamping: head.rawValue) + 1 : 30)
    }

    private static let actions = [
        ItemAction(id: "yes", label: "Yes"), ItemAction(id: "no", label: "No"),
        ItemAction(id: "caf\u{e9}", label: "Later"), ItemAction(id: "cafe\u{301}", label: "Never \n"),
    ]

    private mutating func broadcast(_ store: NaiveStore) -> (ItemReference, Content?) {
        let broadcasts = store.broadcasts()
        if broadcasts.isEmpty || random.chance(10) {
            return (.seq(Seq(UInt64(random.below(Int(store.head.rawValue) + 2)))), nil)
        }
        let item = random.pick(broadcasts)
        return (.seq(item.seq), item.content)
    }

    private mutating func undoable(_ user: String, _ store: NaiveStore) -> Seq {
        let kinds: Set<EventKind> = [.traySeen, .marked, .allMarked]
        let undoable = store.history(of: user).filter { kinds.contains($0.kind) }
        if undoable.isEmpty || random.chance(15) { return Seq(UInt64(random.below(Int(store.head.rawValue) + 3))) }
        return random.pick(random.chance(50) ? Array(undoable.suffix(3)) : undoable).seq
    }
}

// MARK: - Content

extension HistoryGenerator {
    mutating func content() -> Content {
        var content = Content()
        if random.chance(70) { content.thread = random.pick(threads) }
        if random.chance(70) { content.category = random.pick(categories) }
        if random.chance(80) { content.title = "Title \(random.below(1_000)) – é" }
        if random.chance(40) { content.body = "Body\n\t\(random.below(1_000)) 🎉" }
        if random.chance(60) { content.summaryArgument = random.pick(HistoryNames.people) }
        if random.chance(30) { content.summaryCount = random.pick([0, 1, 2, 3, 7, 100, .max]) }
        content.isSilent = random.chance(12)
        if random.chance(20) { content.level = random.pick(InterruptionLevel.allCases) }
        if random.chance(10) { content.expiresAt = coarse() }
        if random.chance(15) { content.remindAt = coarse() }
        if mix.features.contains(.ticks), random.chance(12) {
            // Later than any event so far, by whatever clock.
            let notBefore = Timestamp(milliseconds: latest.milliseconds / 500 * 500).later(
                Int64(random.between(5, 16)) * 500)
            content.notBefore = notBefore
            // Mostly in the order that is wanted.
            if random.chance(90) {
                if let time = content.expiresAt { content.expiresAt = max(time, notBefore.later(500)) }
                if let time = content.remindAt { content.remindAt = max(time, notBefore.later(500)) }
            }
        }
        if random.chance(25) { content.actions = Array(Self.actions.prefix(random.between(1, 4))) }
        if random.chance(15) { content.collapseKey = random.pick(HistoryNames.names(mix.collapseKeys, "collapse")) }
        if random.chance(15) { content.data = random.pick(Self.data) }
        if random.chance(mix.largePercent) { enlarge(&content) }
        return content
    }

    private static let data = [
        "{}", "[]", "7", "-0.5e3", "\"text\"", "true", "{\"a\":[1,2,{\"b\":null}],\"é\":\"\\u00e9\"}",
        " { \"spaced\" : 1 } ", "{\"spaced\":1.0}", "-500", "-5E+2", "\"\\u0074ext\"",
        "{\"\\u00e9\":\"é\",\"a\":[1.0,20e-1,{\"b\":null}]}", "12345678901234567890123", "12345678901234567890124",
        "{\"a\":1,\"a\":2}", "{\"a\":2,\"a\":1}",
    ]

    /// Texts of exactly the largest size that is allowed.
    private mutating func enlarge(_ content: inout Content) {
        content.title = String(repeating: "é", count: 512)
        content.body = String(repeating: "b", count: 16 * 1_024)
        if random.chance(50) { content.data = "\"" + String(repeating: "d", count: 64 * 1_024 - 2) + "\"" }
        content.summaryArgument = String(repeating: "n", count: 256)
    }

    /// An edit of one field at least, which often sets what `content` has already.
    private mutating func edit(like content: Content?) -> ContentEdit {
        let other = random.chance(30) ? content ?? self.content() : self.content()
        var edit = ContentEdit()
        let fields = random.between(1, 255)
        if content?.notBefore != nil || random.chance(3) { edit.notBefore = .set(coarse()) }
        if fields & 1 != 0 { edit.title = change(other.title) }
        // Texts that look the same but differ in bytes: a change.
        if random.chance(10), let title = other.title { edit.title = .set(title.dropLast() + "e\u{301}") }
        if fields & 2 != 0 { edit.body = change(other.body) }
        if fields & 4 != 0 { edit.summaryArgument = change(other.summaryArgument) }
        if fields & 8 != 0 { edit.summaryCount = random.chance(20) ? .clear : .set(other.summaryCount) }
        if fields & 16 != 0 { edit.level = random.chance(20) ? .clear : .set(other.level) }
        if fields & 32 != 0 { edit.expiresAt = change(other.expiresAt) }
        if fields & 64 != 0 { edit.data = change(other.data) }
        if fields & 128 != 0 { edit.remindAt = change(random.chance(40) ? content?.remindAt : other.remindAt) }
        return edit
    }

    private func change<Value>(_ value: Value?) -> Change<Value> { value.map { .set($0) } ?? .clear }
}
