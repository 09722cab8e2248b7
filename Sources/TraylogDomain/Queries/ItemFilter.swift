/// Which items of a tray are meant, for showing them and for marking them: those that match every part.
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
    /// Only items that were not read; muted ones count here, too.
    public var onlyUnread: Bool
    /// Only items that were not seen; muted ones count here, too.
    public var onlyUnseen: Bool
    /// Only items of these threads.
    public var thread: Thread
    /// Only items of any of these categories; empty for all.
    public var categories: [String]

    /// A filter for all items but silent ones, unless told otherwise.
    public init(
        includeSilent: Bool = false, onlyUnread: Bool = false, onlyUnseen: Bool = false, thread: Thread = .any,
        categories: [String] = []
    ) {
        self.includeSilent = includeSilent
        self.onlyUnread = onlyUnread
        self.onlyUnseen = onlyUnseen
        self.thread = thread
        self.categories = categories
    }
}

extension ItemFilter.Thread: ExpressibleByStringLiteral {
    /// Makes one from a literal.
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

    /// Throws where an event of a bulk mark cannot say what the filter says.
    package func checkForMarking() throws(Refusal) {
        let wanted =
            categories.count > 1 ? "category" : onlyUnread ? "unread" : onlyUnseen ? "unseen" : nil
        guard let wanted else { return }
        throw .invalid(
            field: wanted, reason: "a bulk mark takes a thread and one category; mark other items by their seqs")
    }
}
