extension TrayState {
    /// One page of the groups of listed items, the group with the newest item first.
    ///
    /// - Complexity: O(the user's items), whatever the page: a group's count needs all of them.
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
        // Items came newest first, so groups stand in the order wanted.
        let before = cursor?.before.rawValue ?? .max
        let rest = groups.drop { $0.newest.entry.position >= before }
        let page = rest.prefix(limit)
        let next = rest.count > page.count ? page.last?.newest.entry.position : nil
        return ThreadsPage(
            user: user, asOf: asOf, threads: try page.map { try $0.threadGroup(from: source) },
            next: next.map { Cursor(before: Seq($0)) })
    }
}

/// A group that is being gathered, newest item first.
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
