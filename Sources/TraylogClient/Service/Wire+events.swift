@_spi(Replication) @_spi(Wire) import TraylogDomain
import TraylogJSON
@_spi(Replication) import TraylogReplica

// Events, items and snapshots as the service writes them.

extension Event {
    /// - Throws: ``WireFault`` also for a kind that this version does not know.
    package init(wire fields: WireObject) throws {
        self.init(
            seq: try fields.seq("seq"), recordedAt: try fields.time("recordedAt"),
            occurredAt: try fields.time(maybe: "occurredAt"),
            revision: fields.isSet("revision") ? try fields.revision("revision") : 0,
            user: try fields.string(maybe: "user"), key: try fields.string(maybe: "key"),
            actor: try fields.string(maybe: "actor"), device: try fields.string(maybe: "device"),
            body: try Body(wire: fields))
    }
}

extension Event.Body {
    fileprivate init(wire fields: WireObject) throws {
        let name = try fields.string("kind")
        guard let kind = EventKind(rawValue: name) else { throw WireFault("unknown kind \(Refusal.excerpt(name))") }
        guard !fields.has("erased") else {
            self = .redacted(kind)
            return
        }
        switch kind {
        case .notified: self = .notified(try Content(wire: fields))
        case .broadcast: self = .broadcast(topic: try fields.string("topic"), try Content(wire: fields))
        case .traySeen: self = .traySeen(upTo: try fields.seq("upTo"))
        case .marked: self = .marked(try Mark(wire: fields), items: try fields.seqs("items"))
        case .allMarked:
            guard let mark = BulkMark(try Mark(wire: fields)) else { throw WireFault("as is no mark of all items") }
            self = .allMarked(mark, try ItemFilter(wire: fields), upTo: try fields.seq("upTo"))
        case .muted: self = .muted(try MuteScope(wire: fields), until: try fields.time(maybe: "until"))
        case .unmuted: self = .unmuted(try MuteScope(wire: fields))
        case .snoozed: self = .snoozed(item: try fields.seq("item"), until: try fields.time("until"))
        case .woken: self = .woken(item: try fields.seq("item"))
        case .edited: self = .edited(item: try fields.seq("item"), try ContentEdit(wire: fields))
        case .retracted: self = .retracted(item: try fields.seq("item"))
        case .subscribed:
            self = .subscribed(
                topic: try fields.string("topic"), topicRevision: try fields.revision("topicRevision"))
        case .unsubscribed:
            self = .unsubscribed(
                topic: try fields.string("topic"), topicRevision: try fields.revision("topicRevision"))
        case .undone: self = .undone(event: try fields.seq("event"))
        case .expired: self = .expired(item: try fields.seq("item"))
        case .acted:
            self = .acted(
                item: try fields.seq("item"), action: try fields.string("action"),
                note: try fields.string(maybe: "note"), asOf: try fields.seq("asOf"))
        case .reminded: self = .reminded(item: try fields.seq("item"))
        case .arrived:
            self = .arrived(
                item: try fields.seq("item"), topic: try fields.string(maybe: "topic"),
                key: try fields.string(maybe: "itemKey"), notifiedAt: try fields.time("notifiedAt"),
                try Content(wire: fields))
        case .erased: self = .erased(spans: try fields.elements("spans").map { try SubscriptionSpan(wire: $0) })
        case .held: self = .held
        case .released: self = .released
        case .lost: self = .lost
        case .compacted:
            self = .compacted(
                through: try fields.seq("through"), dropped: try fields.revision("dropped"),
                archive: try fields.string(maybe: "archive"))
        case .audited:
            let revisions = try fields.elements("topicRevisions").map { try WireObject($0) }
            self = .audited(
                purpose: try fields.string(maybe: "purpose"),
                topicRevisions: try revisions.map {
                    TopicRevision(topic: try $0.string("topic"), revision: try $0.revision("revision"))
                })
        }
    }
}

extension Mark {
    package init(wire fields: WireObject) throws {
        let name = try fields.string("as")
        guard let mark = Mark(rawValue: name) else { throw WireFault("as: unknown mark \(Refusal.excerpt(name))") }
        self = mark
    }
}

extension SubscriptionSpan {
    fileprivate init(wire text: [UInt8]) throws {
        let fields = try WireObject(text)
        self.init(topic: try fields.string("topic"), from: try fields.seq("from"), to: try fields.seq("to"))
    }
}

extension ItemFilter {
    /// The filter of a bulk mark.
    package init(wire fields: WireObject) throws {
        let thread = try fields.string(maybe: "thread")
        self.init(
            thread: thread.map { .named($0) } ?? (fields.has("thread") ? .unthreaded : .any),
            category: try fields.string(maybe: "category"))
    }
}

extension MuteScope {
    package init(wire fields: WireObject) throws {
        if try fields.boolean(maybe: "all") ?? false {
            self = .all
        } else if let thread = try fields.string(maybe: "thread") {
            self = .thread(thread)
        } else if let topic = try fields.string(maybe: "topic") {
            self = .topic(topic)
        } else {
            self = .category(try fields.string("category"))
        }
    }
}

extension Content {
    package init(wire fields: WireObject) throws {
        let level = try fields.string(maybe: "level")
        self.init(
            thread: try fields.string(maybe: "thread"), category: try fields.string(maybe: "category"),
            title: try fields.string(maybe: "title"), body: try fields.string(maybe: "body"),
            summaryArgument: try fields.string(maybe: "summaryArgument"),
            summaryCount: fields.isSet("summaryCount")
                ? try fields.integer("summaryCount").clamped(to: 0...UInt32.max) : 1,
            isSilent: try fields.boolean(maybe: "silent") ?? false,
            level: level.flatMap { InterruptionLevel(rawValue: $0) } ?? .active,
            expiresAt: try fields.time(maybe: "expiresAt"), remindAt: try fields.time(maybe: "remindAt"),
            notBefore: try fields.time(maybe: "notBefore"), collapseKey: try fields.string(maybe: "collapseKey"),
            actions: try fields.has("actions")
                ? fields.elements("actions").map { try ItemAction(wire: WireObject($0)) } : [],
            data: fields.raw("data"))
    }
}

extension ItemAction {
    fileprivate init(wire fields: WireObject) throws {
        self.init(id: try fields.string("id"), label: try fields.string("label"))
    }
}

extension Outcome {
    fileprivate init(wire fields: WireObject) throws {
        self.init(
            action: try fields.string("action"), note: try fields.string(maybe: "note"),
            actor: try fields.string("actor"), seq: try fields.seq("seq"), at: try fields.time("at"),
            asOf: try fields.seq("asOf"))
    }
}

extension ContentEdit {
    fileprivate init(wire fields: WireObject) throws {
        func change<Value>(_ name: String, _ read: (String) throws -> Value?) throws -> Change<Value> {
            guard fields.has(name) else { return .keep }
            guard fields.isSet(name) else { return .clear }
            return try read(name).map { .set($0) } ?? .keep
        }
        self.init()
        title = try change("title") { try fields.string(maybe: $0) }
        body = try change("body") { try fields.string(maybe: $0) }
        summaryArgument = try change("summaryArgument") { try fields.string(maybe: $0) }
        summaryCount = try change("summaryCount") { try fields.integer($0).clamped(to: 0...UInt32.max) }
        level = try change("level") { InterruptionLevel(rawValue: try fields.string($0)) }
        expiresAt = try change("expiresAt") { try fields.time(maybe: $0) }
        remindAt = try change("remindAt") { try fields.time(maybe: $0) }
        notBefore = try change("notBefore") { try fields.time(maybe: $0) }
        data = try change("data") { fields.raw($0) }
    }
}

extension Tray {
    package init(wire fields: WireObject) throws {
        self.init(
            user: try fields.string("user"), asOf: try fields.seq("asOf"),
            revision: try fields.revision("revision"), unseen: try fields.count("unseen"),
            unread: try fields.count("unread"),
            awaiting: try fields.has("awaiting") ? fields.count("awaiting") : 0, total: try fields.count("total"),
            seenUpTo: try fields.seq("seenUpTo"), seenAt: try fields.time(maybe: "seenAt"),
            newest: try fields.seq(maybe: "newest"), newestCounted: try fields.seq(maybe: "newestCounted"))
    }
}

extension Item {
    package init(wire fields: WireObject) throws {
        self.init(
            seq: try fields.seq("seq"), position: try fields.seq("position"), key: try fields.string(maybe: "key"),
            topic: try fields.string(maybe: "topic"), content: try Content(wire: fields),
            isMuted: try fields.boolean("muted"), isSeen: try fields.boolean("seen"),
            isRead: try fields.boolean("read"), isArchived: try fields.boolean("archived"),
            isDeleted: try fields.boolean(maybe: "deleted") ?? false,
            isGone: try fields.boolean(maybe: "gone") ?? false, snoozedUntil: try fields.time(maybe: "snoozedUntil"),
            outcome: try fields.isSet("outcome") ? Outcome(wire: fields.object("outcome")) : nil,
            actor: try fields.string(maybe: "actor"), occurredAt: try fields.time(maybe: "occurredAt"),
            recordedAt: try fields.time("recordedAt"), arrivedAt: try fields.time(maybe: "arrivedAt"))
    }
}

/// One page of `/snapshot`.
struct SnapshotPage {
    var snapshot: TraySnapshot
    var store: String
    /// The history of the store; nil from a service that names none.
    var history: StoreHistory?
    /// Where `changes` goes on.
    var offset: String
    /// The cursor of the next page, as the service wrote it.
    var cursor: String?

    /// Whether a page is of the same snapshot, and begins behind another one.
    func follows(_ last: SnapshotPage) -> Bool {
        guard let place = last.snapshot.next, snapshot.asOf == last.snapshot.asOf else { return false }
        return snapshot.next.map { $0.after > place.after } ?? true
    }

    init(_ body: [UInt8]) throws {
        let lines = body.split(separator: UInt8(ascii: "\n"))
        guard lines.count >= 2, let first = lines.first, let last = lines.last else {
            throw WireFault("the snapshot is cut short")
        }
        let head = try WireObject(Array(first))
        let end = try WireObject(Array(last))
        guard end.has("next") else { throw WireFault("the snapshot is cut short") }
        cursor = try end.string(maybe: "next")
        store = try head.string("store")
        history = try head.has("history") ? StoreHistory(wire: head) : nil
        offset = try head.string("offset")
        let tray = try Tray(wire: head.object("tray"))
        snapshot = TraySnapshot(
            user: tray.user, asOf: try head.seq("asOf"), stream: try head.integer("stream").clamped(to: 0...UInt32.max),
            floor: try head.seq("floor"), tray: tray,
            mutes: try head.elements("mutes").map { text in
                let fields = try WireObject(text)
                return Mute(
                    scope: try MuteScope(wire: fields), since: try fields.time("since"),
                    until: try fields.time(maybe: "until"))
            },
            topics: try head.elements("topics").map { text in
                let fields = try WireObject(text)
                return TraySnapshot.TopicSpan(
                    topic: try fields.string("topic"), from: try fields.seq("from"),
                    until: try fields.seq(maybe: "until"))
            },
            voided: try head.seqs("voided"),
            items: try lines[1..<lines.count - 1].map { line in
                let fields = try WireObject(Array(line))
                return TraySnapshot.Part(
                    item: try Item(wire: fields), hasContent: try fields.boolean(maybe: "hasContent") ?? true)
            },
            next: try cursor.map { text in
                guard let cursor = SnapshotCursor(text) else { throw WireFault("next is no cursor") }
                return cursor
            })
    }
}

extension StoreHistory {
    /// Reads the member `history`: a list of `{"mark","after"}`.
    init(wire fields: WireObject) throws {
        let forks = try fields.elements("history").map { text in
            let fork = try WireObject(text)
            guard let id = UInt64(canonical: try fork.string("mark")), id > 0 else {
                throw WireFault("history has another mark")
            }
            return Fork(id: id, after: try fork.seq("after"))
        }
        guard let history = StoreHistory(forks) else { throw WireFault("history is out of order") }
        self = history
    }

    /// Writes that member.
    func write(to writer: inout JSONWriter) {
        writer.member("history", each: forks) { writer, fork in
            writer.beginObject()
            writer.member("mark", fork.mark)
            writer.member("after", fork.after)
            writer.endObject()
        }
    }
}
