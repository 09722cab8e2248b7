import TraylogDomain

/// An event as `protoc --decode` prints it: written from the meaning of the event, not from its bytes.
struct TextFormat {
    private(set) var lines: [String] = []

    init(_ event: Event) {
        add("user", event.user)
        switch event.body {
        case .subscribed(let topic, _), .unsubscribed(let topic, _), .broadcast(let topic, _),
            .muted(.topic(let topic), _), .unmuted(.topic(let topic)):
            add("topic", topic)
        case .arrived(_, let topic, _, _, _): add("topic", topic)
        default: break
        }
        add("key", event.key)
        add("actor", event.actor)
        add("device", event.device)
        if event.commandFingerprint != 0 { add("command_fingerprint", event.commandFingerprint) }
        add(event.body)
    }

    private mutating func add(_ body: Event.Body) {
        switch body {
        case .notified(let content), .broadcast(_, let content): add(content)
        case .arrived(let item, _, let key, let notifiedAt, let content):
            addTexts(content)
            add("item_key", key)
            add("notified_at", notifiedAt.milliseconds)
            add("item", item.rawValue)
            addReminder(content)
        case .traySeen(let upTo): add("up_to", upTo.rawValue)
        case .marked(let mark, let items):
            add("mark", word: "MARK", "\(mark)")
            for item in items { add("items", item.rawValue) }
        case .allMarked(let mark, let filter, let upTo):
            if case .named(let thread) = filter.thread { add("thread", thread) }
            add("category", filter.category)
            add("up_to", upTo.rawValue)
            add("mark", word: "MARK", "\(mark)")
            if filter.thread == .unthreaded { lines.append("unthreaded: true") }
        case .muted(let scope, let until):
            add(name: scope)
            add("until", until?.milliseconds)
            if scope == .all { lines.append("all: true") }
        case .unmuted(let scope):
            add(name: scope)
            if scope == .all { lines.append("all: true") }
        case .snoozed(let item, let until):
            add("item", item.rawValue)
            add("until", until.milliseconds)
        case .woken(let item), .retracted(let item), .expired(let item), .reminded(let item):
            add("item", item.rawValue)
        case .acted(let item, let action, let note, let asOf):
            add("item", item.rawValue)
            add("action", action)
            add("note", note)
            add("as_of", asOf.rawValue)
        case .edited(let item, let edit): add(edit, of: item)
        case .undone(let event): add("event", event.rawValue)
        case .compacted(let through, let dropped, let archive):
            add("dropped", dropped)
            add("archive", archive)
            add("through", through.rawValue)
        case .audited(let purpose, let revisions):
            add("purpose", purpose)
            for revision in revisions {
                lines.append("topic_revisions {")
                add("  topic", revision.topic)
                if revision.revision != 0 { add("  revision", revision.revision) }
                lines.append("}")
            }
        case .subscribed(_, let topicRevision), .unsubscribed(_, let topicRevision):
            if topicRevision != 0 { add("topic_revision", topicRevision) }
        case .erased(let spans):
            for span in spans {
                lines.append("spans {")
                lines.append("  topic: \"\(Self.escaped(span.topic))\"")
                lines.append("  from: \(span.from)")
                lines.append("  to: \(span.to)")
                lines.append("}")
            }
        case .held, .released, .redacted, .lost: break
        }
    }

    private mutating func add(name scope: MuteScope) {
        switch scope {
        case .thread(let name): add("thread", name)
        case .category(let name): add("category", name)
        case .topic, .all: break
        }
    }

    private mutating func add(_ content: Content) {
        addTexts(content)
        add("not_before", content.notBefore?.milliseconds)
        addReminder(content)
    }

    private mutating func addTexts(_ content: Content) {
        add("thread", content.thread)
        add("category", content.category)
        add("title", content.title)
        add("body", content.body)
        add("summary_argument", content.summaryArgument)
        if content.summaryCount != 1 { add("summary_count", content.summaryCount) }
        if content.isSilent { lines.append("silent: true") }
        if content.level != .active { add("level", word: "LEVEL", "\(content.level)") }
        add("expires_at", content.expiresAt?.milliseconds)
        add("collapse_key", content.collapseKey)
        add("data", content.data)
    }

    private mutating func addReminder(_ content: Content) {
        add("remind_at", content.remindAt?.milliseconds)
        for action in content.actions {
            lines += [
                "actions {", "  id: \"\(Self.escaped(action.id))\"", "  label: \"\(Self.escaped(action.label))\"", "}",
            ]
        }
    }

    private mutating func add(_ edit: ContentEdit, of item: Seq) {
        if case .set(let text) = edit.title { add("title", text) }
        if case .set(let text) = edit.body { add("body", text) }
        if case .set(let text) = edit.summaryArgument { add("summary_argument", text) }
        if case .set(let count) = edit.summaryCount { add("summary_count", count) }
        if case .set(let level) = edit.level { add("level", word: "LEVEL", "\(level)") }
        if case .set(let time) = edit.expiresAt { add("expires_at", time.milliseconds) }
        if case .set(let text) = edit.data { add("data", text) }
        if case .set(let time) = edit.notBefore { add("not_before", time.milliseconds) }
        add("item", item.rawValue)
        if edit.title == .clear { add("cleared", 12) }
        if edit.body == .clear { add("cleared", 13) }
        if edit.summaryArgument == .clear { add("cleared", 14) }
        if edit.summaryCount == .clear { add("cleared", 15) }
        if edit.level == .clear { add("cleared", 17) }
        if edit.expiresAt == .clear { add("cleared", 18) }
        if edit.data == .clear { add("cleared", 20) }
        if edit.remindAt == .clear { add("cleared", 37) }
        if case .set(let time) = edit.remindAt { add("remind_at", time.milliseconds) }
    }

    private mutating func add(_ name: String, _ text: String?) {
        if let text { lines.append("\(name): \"\(Self.escaped(text))\"") }
    }

    private mutating func add(_ name: String, _ number: (some BinaryInteger)?) {
        if let number { lines.append("\(name): \(number)") }
    }

    /// `timeSensitive` as `LEVEL_TIME_SENSITIVE`.
    private mutating func add(_ name: String, word prefix: String, _ word: String) {
        let snake = word.map { $0.isUppercase ? "_\($0)" : $0.uppercased() }.joined()
        lines.append("\(name): \(prefix)_\(snake)")
    }

    private static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "\n"): return "\\n"
            case UInt8(ascii: "\""): return "\\\""
            case UInt8(ascii: "\\"): return "\\\\"
            case 0x20..<0x7F: return String(UnicodeScalar(byte))
            default:
                let octal = String(byte, radix: 8)
                return "\\" + String(repeating: "0", count: 3 - octal.count) + octal
            }
        }.joined()
    }
}
