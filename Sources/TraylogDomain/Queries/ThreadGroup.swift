/// The listed items of one thread, as a group.
public struct ThreadGroup: Hashable, Sendable {
    /// The name of the thread; nil for the app-level group, which has the items without a thread.
    public var thread: String?
    /// Listed items.
    public var count: UInt64
    public var unseen: UInt64
    public var unread: UInt64
    public var newest: Item
    /// Summarises the other items: "5 more notifications from Alice and Me". Nil when their summary counts add up to 0.
    public var summary: String?

    public init(
        thread: String?, count: UInt64, unseen: UInt64, unread: UInt64, newest: Item, summary: String?
    ) {
        self.thread = thread
        self.count = count
        self.unseen = unseen
        self.unread = unread
        self.newest = newest
        self.summary = summary
    }
}

/// One page of groups, the group with the newest item first.
public struct ThreadsPage: Hashable, Sendable {
    public var user: String
    public var asOf: Seq
    public var threads: [ThreadGroup]
    public var next: Cursor?

    public init(user: String, asOf: Seq, threads: [ThreadGroup], next: Cursor?) {
        self.user = user
        self.asOf = asOf
        self.threads = threads
        self.next = next
    }
}

extension TrayState {
    /// One page of the groups of listed items, the group with the newest item first.
    ///
    /// - Complexity: O(the user's items) for every page, because a group counts all of them.
    package func threads(
        of user: String, asOf: Seq, limit: Int, cursor: Cursor?, source: some StateSource
    ) throws -> ThreadsPage {
        var groups: [Group] = []
        var places: [UInt64: Int] = [:]
        try forEachItem(below: .max, stored: source) { page, entry in
            guard entry.flags.isListed else { return true }
            let shown = ShownItem(
                entry: entry, isSeen: isSeen(entry), overrides: Array(page.overrides(of: entry.seq)))
            if let place = places[entry.thread] {
                groups[place].add(shown)
            } else {
                places[entry.thread] = groups.count
                groups.append(Group(newest: shown))
            }
            return true
        }
        // Items came newest first, so the groups are in order already.
        let before = cursor?.before.rawValue ?? .max
        let rest = groups.drop { $0.newest.entry.position >= before }
        let page = rest.prefix(limit)
        let next = rest.count > page.count ? page.last?.newest.entry.position : nil
        return ThreadsPage(
            user: user, asOf: asOf, threads: try page.map { try $0.threadGroup(from: source) },
            next: next.map { Cursor(before: Seq($0)) })
    }
}

/// A group under construction; its items come newest first.
private struct Group {
    let newest: ShownItem
    var count: UInt64 = 0
    var unseen: UInt64 = 0
    var unread: UInt64 = 0
    var phrase = SummaryPhrase()

    init(newest: ShownItem) {
        self.newest = newest
        tally(newest)
    }

    mutating func add(_ item: ShownItem) {
        tally(item)
        phrase.add(item)
    }

    private mutating func tally(_ item: ShownItem) {
        count += 1
        guard item.entry.flags.isCounted else { return }
        if !item.isSeen { unseen += 1 }
        if !item.entry.flags.contains(.read) { unread += 1 }
    }

    func threadGroup(from source: some StateSource) throws -> ThreadGroup {
        let item = try newest.item(from: source)
        let names = try phrase.spoken.compactMap { try $0.content(from: source).content.summaryArgument }
        return ThreadGroup(
            thread: item.content.thread, count: count, unseen: unseen, unread: unread, newest: item,
            summary: phrase.text(names))
    }
}

/// Summarises the items of a group that are not shown.
struct SummaryPhrase {
    private var count: UInt64 = 0
    private var names: Set<UInt64> = []
    /// One item for each of the first three names, newest first.
    private var first: [ShownItem] = []

    /// Adds an item; they must come newest first.
    mutating func add(_ item: ShownItem) {
        count += UInt64(item.entry.summaryCount)
        guard item.entry.argument != 0, names.insert(item.entry.argument).inserted, first.count < 3 else { return }
        first.append(item)
    }

    /// Items that carry the names in the phrase, in order: at most three.
    var spoken: ArraySlice<ShownItem> { names.count <= 3 ? first[...] : first.prefix(2) }

    /// The phrase, given the names of ``spoken``; nil when the summary counts add up to 0.
    func text(_ spoken: [String]) -> String? {
        guard count > 0 else { return nil }
        let start = count == 1 ? "1 more notification" : "\(count) more notifications"
        switch (names.count, spoken.count) {
        case (0, _): return start
        case (1, 1): return "\(start) from \(spoken[0])"
        case (2, 2): return "\(start) from \(spoken[0]) and \(spoken[1])"
        case (3, 3): return "\(start) from \(spoken[0]), \(spoken[1]) and \(spoken[2])"
        default: return "\(start) from \(spoken.joined(separator: ", ")) and \(names.count - spoken.count) others"
        }
    }
}
