@testable import TraylogDomain

/// The values in the fixtures of stored states: every field differs from its default, and from the others.
enum GoldenStates {
    static var root: TrayState {
        var state = TrayState(landmarkDistance: 300)
        (state.appliedSeq, state.folded, state.lastLandmark) = (70_000, 1_234, 69_000)
        (state.total, state.unseen, state.unread) = (129, 65, 128)
        (state.awaiting, state.hasReminders) = (64, true)
        (state.seenUpTo, state.seenMark, state.sealedPages) = (40_000, 40_001, 9)
        (state.seenBy, state.newest.listed, state.newest.counted) = (40_300, 65_000, 60_056)
        state.categories = [
            CategoryCount(category: 11, namedBy: 12, unseen: 13, unread: 14),
            CategoryCount(category: Identity(rawValue: 1 << 60), namedBy: 300, unseen: 0, unread: 1),
        ]
        state.mutes.all = MuteSet.Entry(identity: .absent, since: 69_100, by: 69_110)
        state.mutes.threads = [
            MuteSet.Entry(identity: 21, since: 300, by: 301), MuteSet.Entry(identity: 22, since: 500, by: 500),
        ]
        state.mutes.categories = [MuteSet.Entry(identity: Identity(rawValue: 1 << 63), since: 7, by: 69_000)]
        var left = Subscription(topic: 31, isActive: false)
        left.hasItems = true
        state.topics = [left, Subscription(topic: 32, isActive: true)]
        var mark = RangeMark(seq: 50_000, mark: .deleted, upTo: 49_000)
        (mark.thread, mark.category) = (41, 42)
        var other = RangeMark(seq: 50_001, mark: .read, upTo: 50_000)
        other.onlyUnthreaded = true
        state.rangeMarks = [mark, other]
        (state.sweepBelow, state.sweepThrough) = (49_999, 50_001)
        state.tallies.pageCount = 3
        for seq: UInt64 in [60_000, 60_001, 60_200, 70_000] { state.events.append(seq) }
        state.keys.recent = [KeyIndex.Entry(key: 51, value: 52)]
        state.keys.pageCount = 2
        state.collapseKeys.recent = [KeyIndex.Entry(key: 53, value: 54)]
        state.collapseKeys.pageCount = 1
        state.moved.recent = [KeyIndex.Entry(key: 60_000, value: 60_200)]
        state.voided.recent = [KeyIndex.Entry(key: 60_001, value: 70_000)]
        state.tail = items
        return state
    }

    /// Thirteen entries with each flag, one of them woken, and overrides of all fields.
    static var items: ItemPage {
        var page = ItemPage(first: 59_000)
        (page.markedThrough, page.changedBy) = (58_000, 69_999)
        for index: UInt64 in 0..<12 {
            page.entries.append(
                ItemEntry(
                    seq: 60_000 + index * 7, position: 60_000 + index * 7,
                    thread: Identity(rawValue: index % 3 == 0 ? 0 : 100 + index % 3),
                    category: index % 2 == 0 ? 0 : 200, argument: index == 5 ? 300 : 0, summaryCount: UInt32(index),
                    flags: ItemFlags(rawValue: 1 << UInt8(index))))
        }
        page.entries.append(
            ItemEntry(seq: 77, position: 65_000, thread: 1, category: 2, argument: 3, summaryCount: .max, flags: []))
        for bit: UInt16 in 0..<12 {
            page.override(60_007, ContentFields(rawValue: 1 << bit), by: 68_000 + UInt64(bit))
        }
        return page
    }

    static var tallies: KeyIndex.Page {
        var page = KeyIndex.Page(first: 100)
        (page.changedBy, page.markedThrough) = (69_998, 50_001)
        page.entries = [KeyIndex.Entry(key: 101, value: 0), KeyIndex.Entry(key: 101, value: 200)]
        page.tallies = [Tally(listed: 300, unseen: 2, unread: 129), Tally(listed: 1, awaiting: 200)]
        return page
    }

    static var events: EventIndex.Page {
        var index = EventIndex()
        for seq: UInt64 in [1, 2, 200, 70_000, 1 << 40] { index.append(seq) }
        return index.open
    }

    static var keys: KeyIndex.Page {
        var page = KeyIndex.Page(first: 0x0102_0304_0506_0708)
        page.changedBy = 300
        page.entries = [
            KeyIndex.Entry(key: 0x0102_0304_0506_0708, value: 1),
            KeyIndex.Entry(key: 0x0102_0304_0506_0708, value: 128),
            KeyIndex.Entry(key: .max, value: 70_000),
        ]
        return page
    }
}
