import TestSupport

@testable import TraylogDomain

/// Values with random content, small numbers and extreme ones, as no fold would make them.
extension SeededRandom {
    /// Any number of bits as often as any other.
    mutating func number() -> UInt64 { next() >> UInt64(below(64)) }

    /// As ``number()``.
    mutating func name() -> Identity { Identity(rawValue: number()) }

    mutating func ascending(_ count: Int) -> [Identity] {
        Array(Set((0..<count).map { _ in name() })).sorted()
    }

    /// As ``number()``, within what a file may say.
    mutating func seq() -> UInt64 { number() & Seq.highest }

    mutating func itemPage() -> ItemPage {
        let positions = Array(Set((0..<below(70)).map { _ in seq() })).sorted()
        let names = [.absent, name(), name(), name()]
        var page = ItemPage(first: positions.first ?? number())
        page.markedThrough = number()
        page.changedBy = number()
        page.entries = positions.map { position in
            ItemEntry(
                seq: chance(80) ? position : number(), position: position,
                thread: chance(70) ? pick(names) : name(), category: pick(names), argument: pick(names),
                summaryCount: pick([1, 0, UInt32(truncatingIfNeeded: number()), .max]),
                flags: ItemFlags(rawValue: UInt16(truncatingIfNeeded: next())))
        }
        for _ in 0..<below(20) {
            page.override(number(), ContentFields(rawValue: 1 << UInt16(below(10))), by: number())
        }
        return page
    }

    mutating func keyEntries() -> [KeyIndex.Entry] {
        (0..<below(140)).map { _ in KeyIndex.Entry(key: number(), value: number()) }
    }

    mutating func keyPage() -> KeyIndex.Page {
        var page = KeyIndex.Page(first: 0)
        page.changedBy = number()
        page.entries = keyEntries().sorted { $0.key < $1.key }
        if let first = page.entries.first?.key, chance(50) { page.first = first }
        return page
    }

    mutating func eventPage() -> EventIndex.Page {
        var index = EventIndex()
        var seq = 1 + number() >> 10
        for _ in 0..<between(1, 200) {
            index.append(seq)
            seq += 1 + number() >> 16
            if index.open.packed.isEmpty || seq > 1 << 55 { break }
        }
        return index.sealed.first.map { EventIndex.Page(first: $0.first, packed: $0.packed) } ?? index.open
    }

    mutating func root() -> TrayState {
        var state = TrayState()
        state.appliedSeq = seq()
        (state.total, state.unseen, state.unread) = (number(), number(), number())
        (state.seenUpTo, state.seenMark, state.sealedPages) = (number(), number(), number())
        if chance(50) { (state.awaiting, state.hasReminders) = (number() >> 1, chance(50)) }
        state.categories = ascending(below(8)).map {
            CategoryCount(category: $0, namedBy: number(), unseen: number(), unread: number())
        }
        if chance(30) { state.mutes.all = MuteSet.Entry(identity: .absent, since: number(), by: number()) }
        state.mutes.threads = ascending(below(5)).map { MuteSet.Entry(identity: $0, since: number(), by: number()) }
        state.mutes.categories = ascending(below(5)).map { MuteSet.Entry(identity: $0, since: number(), by: number()) }
        state.rangeMarks = (0..<below(33)).map { _ in
            var mark = RangeMark(seq: number(), mark: pick(Array(BulkMark.allCases)), upTo: number())
            (mark.thread, mark.category, mark.onlyUnthreaded) = (name(), name(), chance(30))
            return mark
        }
        state.events.count = number()
        state.events.last = seq()
        state.events.open = eventPage()
        (state.folded, state.lastLandmark) = (number(), number())
        state.landmarkDistance = max(number(), 1)
        state.topics = ascending(below(5)).map { topic in
            var subscription = Subscription(topic: topic, isActive: chance(50))
            subscription.hasItems = chance(50)
            return subscription
        }
        if !state.rangeMarks.isEmpty { (state.sweepBelow, state.sweepThrough) = (number(), number()) }
        if state.sealedPages >= TrayState.talliedPages { state.tallies.pageCount = number() }
        for (space, key) in TrayState.keyIndexes where space != .tallies {
            state[keyPath: key].pageCount = number()
            state[keyPath: key].recent = keyEntries()
        }
        state.tail = itemPage()
        state.appliedSeq = max(state.appliedSeq, state.events.last, state.tail.entries.last?.position ?? 0)
        state.seenBy = min(seq(), state.appliedSeq)
        let last = state.tail.entries.last?.position ?? state.appliedSeq
        state.newest.listed = min(seq(), last)
        state.newest.counted = min(seq(), state.newest.listed)
        return state
    }

    /// `bytes` with one to four changes: bytes replaced, taken out, put in, doubled or cut off.
    mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<between(1, 4) {
            let place = below(bytes.count + 1)
            let end = min(bytes.count, place + below(12))
            switch below(6) {
            case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8(below(8))
            case 1 where place < bytes.count: bytes[place] = pick([0x00, 0x01, 0x7f, 0x80, 0xff])
            case 2: bytes.removeSubrange(place..<end)
            case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
            case 4: bytes.replaceSubrange(place..<end, with: [UInt8](repeating: 0xff, count: 9) + [0x01])
            case 5: bytes.removeSubrange(place...)
            default: break
            }
        }
        return bytes
    }
}
