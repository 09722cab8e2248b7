import TraylogDomain

/// One user's state: plain lists and sets, changed by looping over them.
package struct NaiveUser: Hashable, Sendable {
    package let name: Name
    /// Every item that was ever in the tray, by seq.
    package private(set) var items: [NaiveItem] = []
    package private(set) var seenUpTo = Seq.zero
    /// The event that moved it there last, and its time.
    package private(set) var seenBy: Seq?
    package private(set) var seenAt: Timestamp?
    package private(set) var mutes: [NaiveMute] = []
    package private(set) var topics: Set<Name> = []
    private var places: [Seq: Int] = [:]

    package init(name: String) { self.name = Name(name) }

    package func item(_ seq: Seq) -> NaiveItem? { places[seq].map { items[$0] } }

    package func mute(_ scope: MuteScope) -> NaiveMute? { mutes.first { $0.isOf(scope) } }

    /// The fold of Docs/concepts.md; the caller leaves voided events out.
    package mutating func apply(_ event: Event) {
        if let owner = event.user, Name(owner) != name { return }
        switch event.body {
        case .notified(let content):
            supersede(content.collapseKey, onlyScheduled: content.notBefore != nil)
            add(NaiveItem(event, content, topic: nil))
        case .broadcast(let topic, let content):
            guard topics.contains(Name(topic)), content.notBefore == nil else { break }
            add(NaiveItem(event, content, topic: topic))
        case .arrived(let seq, let topic, let key, let notifiedAt, let content):
            arrive(event, seq, topic, key, notifiedAt, content)
        case .traySeen(let upTo):
            changeAll(where: { $0.position <= upTo }, { $0.take(.seen) })
            if upTo > seenUpTo { (seenUpTo, seenBy, seenAt) = (upTo, event.seq, event.recordedAt) }
        case .marked(let mark, let seqs):
            for seq in seqs { change(seq) { $0.take(mark) } }
        case .allMarked(let mark, let filter, let upTo):
            applyAll(mark, filter, upTo: upTo)
        case .muted(let scope, let until):
            let old = mute(scope)
            mutes.removeAll { $0.isOf(scope) }
            mutes.append(
                NaiveMute(
                    scope: scope, since: old?.since ?? event.seq, sinceTime: old?.sinceTime ?? event.recordedAt,
                    by: event.seq, until: until))
        case .unmuted(let scope):
            mutes.removeAll { $0.isOf(scope) }
        case .snoozed(let seq, let until):
            change(seq) { $0.snoozedUntil = until }
        case .woken(let seq):
            change(seq) { item in
                item.snoozedUntil = nil
                item.position = event.seq
                item.seen = false
                item.read = false
            }
        case .edited(let seq, let edit):
            change(seq) { $0.take(edit) }
        case .retracted(let seq), .expired(let seq):
            change(seq) { $0.gone = true }
        case .acted(let seq, let action, let note, let asOf):
            change(seq) { [user = name.text] item in
                guard item.isAwaiting else { return }
                item.outcome = Outcome(
                    action: action, note: note, actor: event.actor ?? user, seq: event.seq, at: event.recordedAt,
                    asOf: asOf)
                item.take(.read)
            }
        case .reminded(let seq):
            change(seq) { $0.reminded = true }
        case .subscribed(let topic, _):
            topics.insert(Name(topic))
        case .unsubscribed(let topic, _):
            topics.remove(Name(topic))
        case .undone, .erased, .redacted, .compacted, .held, .released, .lost, .audited:
            break
        }
    }
}

extension NaiveUser {
    private mutating func add(_ new: NaiveItem) {
        var item = new
        item.muted = !item.scheduled && mutes.contains { $0.silences(item.content, topic: item.topic) }
        places[item.seq] = items.count
        items.append(item)
    }

    private mutating func arrive(
        _ event: Event, _ seq: Seq, _ topic: String?, _ key: String?, _ notifiedAt: Timestamp, _ content: Content
    ) {
        if let topic {
            guard topics.contains(Name(topic)) else { return }
            var item = NaiveItem(event, content, topic: topic)
            (item.seq, item.key, item.recordedAt) = (seq, key, notifiedAt)
            item.arrive(event, content)
            add(item)
        } else if let place = places[seq], items[place].scheduled, !items[place].gone {
            items[place].arrive(event, content)
            items[place].muted = mutes.contains { $0.silences(content, topic: nil) }
            guard content.collapseKey != nil else { return }
            supersede(content.collapseKey, except: seq)
        }
    }

    private mutating func supersede(_ collapseKey: String?, onlyScheduled: Bool = false, except new: Seq? = nil) {
        guard let collapseKey = Name(collapseKey) else { return }
        for place in items.indices where Name(items[place].content.collapseKey) == collapseKey {
            let item = items[place]
            guard !item.gone, !item.deleted, item.seq != new, item.scheduled || !onlyScheduled else { continue }
            items[place].gone = true
        }
    }

    private mutating func applyAll(_ mark: BulkMark, _ filter: ItemFilter, upTo: Seq) {
        let covered = { (item: NaiveItem) in
            item.position <= upTo && item.matches(filter.thread, filter.category)
        }
        switch mark {
        case .seen: changeAll(where: covered, { $0.take(.seen) })
        case .read: changeAll(where: covered, { $0.take(.read) })
        case .archived: changeAll(where: { $0.isInInbox && covered($0) }, { $0.take(.archived) })
        case .deleted: changeAll(where: { $0.isInInbox && covered($0) }, { $0.take(.deleted) })
        }
    }

    /// Changes an item in the tray, unless it is gone: such an item never changes.
    private mutating func change(_ seq: Seq, _ body: (inout NaiveItem) -> Void) {
        guard let place = places[seq], !items[place].gone else { return }
        body(&items[place])
    }

    private mutating func changeAll(where covers: (NaiveItem) -> Bool, _ body: (inout NaiveItem) -> Void) {
        for place in items.indices where !items[place].gone && !items[place].scheduled && covers(items[place]) {
            body(&items[place])
        }
    }
}

/// A mute.
package struct NaiveMute: Hashable, Sendable {
    package var scope: MuteScope
    /// The event with which it began, and its time.
    package var since: Seq
    package var sinceTime: Timestamp
    /// The event that says until when.
    package var by: Seq
    package var until: Timestamp?

    func isOf(_ other: MuteScope) -> Bool {
        switch (scope, other) {
        case (.all, .all): true
        case (.thread(let one), .thread(let two)), (.category(let one), .category(let two)),
            (.topic(let one), .topic(let two)):
            Name(one) == Name(two)
        default: false
        }
    }

    /// Whether an item of this content is muted when it arrives.
    package func silences(_ content: Content, topic: String?) -> Bool {
        switch scope {
        case .all: content.level != .critical
        case .thread(let name): Name(content.thread) == Name(name)
        case .category(let name): Name(content.category) == Name(name)
        case .topic(let name): Name(topic) == Name(name)
        }
    }
}
