/// Selects items of a tray, to show or to mark them: those that match every part.
///
/// ```swift
/// let filter = ItemFilter(thread: "ci")
/// let page = try await store.inbox(of: "ann", InboxQuery(filter))
/// try await store.markAll(.read, of: "ann", filter, upTo: page.asOf)
/// ```
public struct ItemFilter: Hashable, Sendable {
    /// All threads, the app-level group, or one thread.
    public enum Thread: Hashable, Sendable {
        /// All threads, and items without one.
        case any
        /// The app-level group: items without a thread.
        case unthreaded
        /// One thread.
        case named(String)
    }

    /// Shows silent items, too.
    public var includeSilent: Bool
    /// Only items that were not read, including muted ones.
    public var onlyUnread: Bool
    /// Only items that were not seen, including muted ones.
    public var onlyUnseen: Bool
    /// Only items with actions and without an outcome, including muted ones.
    public var onlyAwaiting: Bool
    /// Only items of these threads.
    public var thread: Thread
    /// Only items of any of these categories; empty for all.
    public var categories: [String]
    /// Only items from this actor: the user where no other is named; a broadcast without an actor has none.
    public var actor: String?
    /// Only items of this level or a higher one, as edited.
    public var level: InterruptionLevel?
    /// Only items whose notification was recorded at or after this time.
    public var since: Timestamp?
    /// Only items whose notification was recorded at or before this time.
    public var until: Timestamp?
    /// Only items that have each of these words in title or body, as edited: at most ``Limits/titleBytes``.
    ///
    /// White space separates words. A word is also found inside of words. Case, accents and compatibility forms do not
    /// matter, in any language; `ß` is `ss`, and the Turkish `İ`, `I`, `ı` and `i` are one letter.
    public var text: String?

    /// A filter, by default for all items except silent ones.
    public init(
        includeSilent: Bool = false, onlyUnread: Bool = false, onlyUnseen: Bool = false, onlyAwaiting: Bool = false,
        thread: Thread = .any, categories: [String] = [], actor: String? = nil, level: InterruptionLevel? = nil,
        since: Timestamp? = nil,
        until: Timestamp? = nil, text: String? = nil
    ) {
        self.includeSilent = includeSilent
        self.onlyUnread = onlyUnread
        self.onlyUnseen = onlyUnseen
        self.onlyAwaiting = onlyAwaiting
        self.thread = thread
        self.categories = categories
        self.actor = actor
        self.level = level
        self.since = since
        self.until = until
        self.text = text
    }
}

extension ItemFilter.Thread: ExpressibleByStringLiteral {
    /// Makes a value from a literal.
    public init(stringLiteral name: String) { self = .named(name) }
}

// MARK: Bulk marks

// An `allMarked` event names a thread and a category, and covers silent items: nothing else of a filter.
extension ItemFilter {
    /// The filter of a bulk mark.
    package init(thread: Thread = .any, category: String?) {
        self.init(thread: thread, categories: category.map { [$0] } ?? [])
    }

    /// The category of a bulk mark; nil for all.
    package var category: String? {
        get { categories.first }
        set { categories = newValue.map { [$0] } ?? [] }
    }

    /// Throws if an event of a bulk mark cannot express the filter.
    package func checkForMarking() throws(Refusal) {
        let wanted =
            categories.count > 1
            ? "category"
            : onlyUnread ? "unread" : onlyUnseen ? "unseen" : onlyAwaiting ? "awaiting" : searched
        guard let wanted else { return }
        throw .markedByThread(wanted)
    }

    /// Whether an answer depends on parts of an item that a device may lack: text, level, actor.
    package var searchesContents: Bool { actor != nil || level != nil || text != nil }

    /// The first part that only the log can answer, by its name on the command line; nil when there is none.
    package var searched: String? {
        let parts: [(String, Bool)] = [
            ("actor", actor != nil), ("level", level != nil), ("since", since != nil), ("until", until != nil),
            ("text", text != nil),
        ]
        return parts.first(where: \.1)?.0
    }
}

extension Refusal {
    /// A bulk mark cannot use this part of a filter.
    package static func markedByThread(_ field: String) -> Refusal {
        .invalid(
            field: field, reason: "a bulk mark takes a thread and one category; mark other items by their seqs")
    }
}
