/// The listed items of one thread, as a group.
public struct ThreadGroup: Hashable, Sendable {
    /// The name of the thread; nil for the app-level group, which has the items without a thread.
    public var thread: String?
    /// Listed items.
    public var count: Int
    /// Counted items that are not seen.
    public var unseen: Int
    /// Counted items that are not read.
    public var unread: Int
    /// The top item.
    public var newest: Item
    /// The number of notifications that the other items stand for: the sum of their summary counts.
    public var more: Int
    /// The distinct summary arguments of the other items, those of the newest items first; all of them.
    public var names: [String]

    /// A thread as a query answers it.
    package init(
        thread: String?, count: Int, unseen: Int, unread: Int, newest: Item, more: Int = 0,
        names: [String] = []
    ) {
        self.thread = thread
        self.count = count
        self.unseen = unseen
        self.unread = unread
        self.newest = newest
        self.more = more
        self.names = names
    }

    /// ``more`` and ``names`` in English: "5 more notifications from Alice and Me"; nil when ``more`` is 0.
    public var summary: String? {
        guard more > 0 else { return nil }
        let start = more == 1 ? "1 more notification" : "\(more) more notifications"
        return switch names.count {
        case 0: start
        case 1: "\(start) from \(names[0])"
        case 2: "\(start) from \(names[0]) and \(names[1])"
        case 3: "\(start) from \(names[0]), \(names[1]) and \(names[2])"
        default: "\(start) from \(names[0]), \(names[1]) and \(names.count - 2) others"
        }
    }
}

extension TrayState {
    /// One page of the groups of listed items, the group with the newest item first.
    ///
    /// - Complexity: O(the user's items) for every page, because a group counts all of them; and an event is read for each
    ///   name of the page's groups.
    package func threads(
        asOf: Seq, limit: Int, cursor: Cursor?, source: some StateSource
    ) throws -> Page<ThreadGroup, Cursor> {
        var groups: [Group] = []
        var places: [Identity: Int] = [:]
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
        return Page(
            try page.map { try $0.threadGroup(from: source) }, next: next.map { Cursor(before: Seq($0)) }, asOf: asOf)
    }
}

/// A group under construction; its items come newest first.
private struct Group {
    let newest: ShownItem
    var count = 0
    var unseen = 0
    var unread = 0
    /// The sum of `summaryCount` over all items except the newest.
    private var more = 0
    private var names: Set<Identity> = []
    /// One item for each name, newest first.
    private var named: [ShownItem] = []

    init(newest: ShownItem) {
        self.newest = newest
        tally(newest)
    }

    mutating func add(_ item: ShownItem) {
        tally(item)
        more &+= Int(item.entry.summaryCount)
        let name = item.entry.argument
        if name != .absent, names.insert(name).inserted { named.append(item) }
    }

    private mutating func tally(_ item: ShownItem) {
        count += 1
        guard item.entry.flags.isCounted else { return }
        if !item.isSeen { unseen += 1 }
        if !item.entry.flags.contains(.read) { unread += 1 }
    }

    func threadGroup(from source: some StateSource) throws -> ThreadGroup {
        let item = try newest.item(from: source)
        return ThreadGroup(
            thread: item.content.thread, count: count, unseen: unseen, unread: unread, newest: item, more: more,
            names: try named.compactMap { try $0.content(from: source).content.summaryArgument })
    }
}
