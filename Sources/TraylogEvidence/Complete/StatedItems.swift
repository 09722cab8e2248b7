import TraylogAudit
import TraylogDomain
import TraylogJSON

/// The items that a complete history leads to, without their content: of that it keeps a hash for each field.
///
/// So the items that a file states can be compared with it, however long their texts are.
struct StatedItems {
    /// The members of an item's JSON form that events can change later, each with its field.
    private static let changing: [(name: String, field: ContentFields)] = [
        ("title", .title), ("body", .body), ("summaryArgument", .summaryArgument), ("summaryCount", .summaryCount),
        ("level", .level), ("expiresAt", .expiresAt), ("data", .data), ("remindAt", .remindAt), ("outcome", .outcome),
    ]
    /// The members that no event changes.
    private static let lasting = [
        "key", "topic", "thread", "category", "collapseKey", "silent", "actor", "occurredAt", "recordedAt",
        "arrivedAt", "actions",
    ]
    /// The members that say how the item stands.
    private static let standing = ["seq", "position", "muted", "seen", "read", "archived", "snoozedUntil"]

    /// The hashes of what one event says of an item.
    fileprivate struct Hashes {
        var lasting = MerkleHash.ofEmptyTree
        /// Of the fields that the event sets, and are not left out.
        var changing: [(field: ContentFields, hash: MerkleHash)] = []
    }

    private var hashes: [UInt64: Hashes] = [:]
    /// The end of a snooze, by the event that began it.
    private var snoozes: [UInt64: Timestamp] = [:]
    /// The items of the tray that no line has stated so far; nil before the first line.
    private var missing: [UInt64: ShownItem]?

    /// Keeps what an event says of its item.
    mutating func note(_ event: Event) throws(Refusal) {
        switch event.body {
        case .notified(let content): try keep(event, content, topic: nil)
        case .broadcast(let topic, let content): try keep(event, content, topic: topic)
        case .arrived(let item, let topic, let key, let notifiedAt, let content):
            try keep(event, content, topic: topic, of: (item, key, notifiedAt))
        case .edited(_, let edit): try keep(event, Content().applying(edit), topic: nil)
        case .snoozed(_, let until): snoozes[event.seq.rawValue] = until
        case .acted: try keep(event, Content(), topic: nil, outcome: Outcome(event))
        default: break
        }
    }

    private mutating func keep(
        _ event: Event, _ content: Content, topic: String?, outcome: Outcome? = nil,
        of scheduled: (item: Seq, key: String?, notifiedAt: Timestamp)? = nil
    ) throws(Refusal) {
        var writer = JSONWriter()
        writer.write(
            Item(
                seq: scheduled?.item ?? event.seq, position: event.seq, key: scheduled.map { $0.key } ?? event.key,
                topic: topic, content: content, outcome: outcome, actor: event.actor, occurredAt: event.occurredAt,
                recordedAt: scheduled?.notifiedAt ?? event.recordedAt,
                arrivedAt: scheduled == nil ? nil : event.recordedAt))
        let text = writer.bytes
        hashes[event.seq.rawValue] = try Self.hashes(of: MemberValues(text.span, "item"), text)
    }

    private static func hashes(of members: MemberValues, _ text: [UInt8]) -> Hashes {
        var found = Hashes()
        var lasting: [UInt8] = []
        for name in Self.lasting {
            guard let range = members.range(name) else { continue }
            lasting += Array(name.utf8) + [UInt8(ascii: ":")] + text[range] + [UInt8(ascii: ",")]
        }
        found.lasting = .sha256(RawSpan(_elements: lasting.span))
        for (name, field) in changing {
            guard let range = members.range(name) else { continue }
            let value = Array(text[range])
            found.changing.append((field, .sha256(RawSpan(_elements: value.span))))
        }
        return found
    }

    /// Compares an item that the file states with what the events lead to.
    ///
    /// - Parameters:
    ///   - state: after the last event.
    ///   - text: the item in JSON.
    /// - Throws: ``Refusal`` that names the item, and what of it differs.
    mutating func take(_ text: [UInt8], _ state: TrayState) throws {
        let members = try MemberValues(text.span, "item", prefix: "item.")
        let seq = try members.integer("seq", in: text.span)
        var missing = try self.missing ?? Self.live(state)
        self.missing = nil
        defer { self.missing = missing }
        guard let shown = missing.removeValue(forKey: seq) else {
            throw Refusal.invalid(
                field: "item", reason: "\(seq) is not in the tray after these events, or is stated twice")
        }
        let known = Set(Self.changing.map(\.name) + Self.lasting + Self.standing)
        for name in members.all.keys.sorted() where !known.contains(name) {
            throw Refusal.invalid(field: "item.\(name)", reason: "is no member of an item, in item \(seq)")
        }
        try compare(members, text, shown)
    }

    private func compare(_ members: MemberValues, _ text: [UInt8], _ shown: ShownItem) throws {
        let seq = shown.entry.seq
        var until: Timestamp?
        if shown.entry.flags.contains(.snoozed), let by = shown.overrides.first(where: { $0.field == .snoozedUntil }) {
            until = snoozes[by.event]
        }
        let wanted: [(name: String, value: String?)] = [
            ("position", "\(shown.entry.position)"), ("muted", "\(shown.entry.flags.contains(.muted))"),
            ("seen", "\(shown.isSeen)"), ("read", "\(shown.entry.flags.contains(.read))"),
            ("archived", "\(shown.entry.flags.contains(.archived))"),
            ("snoozedUntil", until.map { "\"\($0.description)\"" }),
        ]
        for (name, value) in wanted {
            let stated = members.range(name).map { String(decoding: text[$0], as: UTF8.self) }
            guard stated == value else {
                throw Self.differs(name, seq, "is \(stated ?? "missing"), and the events make it \(value ?? "absent")")
            }
        }
        guard let origin = hashes[shown.base] else { throw NotInFile(seq: shown.base) }
        let stated = Self.hashes(of: members, text)
        guard stated.lasting == origin.lasting else {
            throw Self.differs("content", seq, "is not what event \(shown.base) says")
        }
        for (name, field) in Self.changing {
            let by = shown.overrides.first { $0.field == field }?.event ?? shown.base
            guard stated.hash(of: field) == hashes[by]?.hash(of: field) else {
                throw Self.differs(name, seq, "is not what event \(by) says")
            }
        }
    }

    private static func differs(_ name: String, _ seq: UInt64, _ reason: String) -> Refusal {
        .invalid(field: "\(name) of item \(seq)", reason: reason)
    }

    /// The item that the file should state and does not; nil when there is none.
    func firstMissing(_ state: TrayState) throws -> UInt64? {
        try (missing ?? Self.live(state)).keys.min()
    }

    private static func live(_ state: TrayState) throws -> [UInt64: ShownItem] {
        var items: [UInt64: ShownItem] = [:]
        try state.forEachItem(below: .max, stored: NoStoredPages()) { page, entry in
            guard entry.flags.isLive else { return true }
            items[entry.seq] = ShownItem(
                entry: entry, isSeen: state.isSeen(entry), overrides: Array(page.overrides(of: entry.seq)))
            return true
        }
        return items
    }
}

extension StatedItems.Hashes {
    fileprivate func hash(of field: ContentFields) -> MerkleHash? {
        changing.first { $0.field == field }?.hash
    }
}
