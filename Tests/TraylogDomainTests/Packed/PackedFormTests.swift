import TestSupport
import Testing

@testable import TraylogDomain

/// A form that states and pages are stored in, made from random values.
protocol PackedForm: Hashable {
    init(from reader: inout PackedReader) throws(PackedError)
    func pack(into bytes: inout [UInt8])
    static func random(_ random: inout SeededRandom) -> Self
    /// The number of things in it, and the fewest bytes that each takes.
    var sizes: [(count: Int, minimumBytes: Int)] { get }
}

extension TrayState: PackedForm {
    static func random(_ random: inout SeededRandom) -> TrayState { random.root() }
    var sizes: [(count: Int, minimumBytes: Int)] {
        [
            (categories.count, 11), (mutes.threads.count + mutes.categories.count, 10), (rangeMarks.count, 19),
            (events.open.packed.count, 1), (keys.recent.count + collapseKeys.recent.count, 9),
        ] + tail.sizes
    }
}

extension ItemPage: PackedForm {
    static func random(_ random: inout SeededRandom) -> ItemPage { random.itemPage() }
    var sizes: [(count: Int, minimumBytes: Int)] {
        [(entries.count, 5), (entries.capacity, 5), (overrides.count, 3)]
    }
}

extension KeyIndex.Page: PackedForm {
    static func random(_ random: inout SeededRandom) -> KeyIndex.Page { random.keyPage() }
    var sizes: [(count: Int, minimumBytes: Int)] { [(entries.count, 9)] }
}

extension EventIndex.Page: PackedForm {
    static func random(_ random: inout SeededRandom) -> EventIndex.Page { random.eventPage() }
    var sizes: [(count: Int, minimumBytes: Int)] { [(packed.count, 1)] }
}

@Suite struct PackedFormTests {
    @Test(arguments: seeds(10, nightly: 1_000))
    func everyFormComesBack(seed: UInt64) throws {
        try expectRoundTrip(TrayState.self, seed)
        try expectRoundTrip(ItemPage.self, seed)
        try expectRoundTrip(KeyIndex.Page.self, seed)
        try expectRoundTrip(EventIndex.Page.self, seed)
    }

    private func expectRoundTrip<Form: PackedForm>(_ form: Form.Type, _ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let value = Form.random(&random)
        let bytes = value.packed
        #expect(try bytes.unpacked(Form.init(from:)) == value, "\(form), seed \(seed)")
    }

    @Test(arguments: seeds(2, nightly: 60))
    func truncatedStatesAndPagesAreReportedAsDamage(seed: UInt64) {
        expectTruncationsThrow(TrayState.self, seed)
        expectTruncationsThrow(ItemPage.self, seed)
        expectTruncationsThrow(KeyIndex.Page.self, seed)
        expectTruncationsThrow(EventIndex.Page.self, seed)
    }

    private func expectTruncationsThrow<Form: PackedForm>(_ form: Form.Type, _ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let bytes = Form.random(&random).packed
        for count in bytes.indices {
            #expect(throws: PackedError.self, "\(form), seed \(seed), \(count) bytes") {
                try Array(bytes.prefix(count)).unpacked(Form.init(from:))
            }
        }
    }

    /// Any bytes are refused, or decode to a value whose size they bound, and which can be packed again.
    @Test(arguments: seeds(3, nightly: 200))
    func anyBytesAreAValueOrDamage(seed: UInt64) throws {
        try expectNoTrap(TrayState.self, seed)
        try expectNoTrap(ItemPage.self, seed)
        try expectNoTrap(KeyIndex.Page.self, seed)
        try expectNoTrap(EventIndex.Page.self, seed)
    }

    private func expectNoTrap<Form: PackedForm>(_ form: Form.Type, _ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let bytes = Form.random(&random).packed
        for round in 0..<400 {
            let changed = random.mutated(bytes)
            var reader = PackedReader(changed)
            guard let value = try? Form(from: &reader) else { continue }
            for (count, minimumBytes) in value.sizes {
                #expect(count * minimumBytes <= changed.count + 64, "\(form), seed \(seed), round \(round)")
            }
            #expect(try value.packed.unpacked(Form.init(from:)) == value, "\(form), seed \(seed), round \(round)")
            if let page = value as? EventIndex.Page { _ = try? page.seqs() }
        }
    }

    @Test func aStateOfALaterFormatIsRefusedByName() {
        var bytes = TrayState().packed
        let later = TrayState.packedVersion + 1
        bytes[0] = later
        #expect(throws: PackedError.newer(version: later)) { try bytes.unpacked(TrayState.init(from:)) }
    }

    /// An empty state has 38 bytes, and a plain item 5 more.
    @Test func actionsRemindersAndMutesCostOnlyStatesThatHaveThem() throws {
        var script = Script()
        try script.notify(20)
        var plain = script.state
        (plain.events, plain.appliedSeq, plain.folded) = (EventIndex(), 20, 20)
        #expect(TrayState().packed.count == 38 && plain.packed.count == 38 + 20 * 5)
        #expect(plain.packed[0] == TrayState.packedVersion)
        try script.append(.muted(.all))
        try script.append(.unmuted(.all))
        try script.append(
            .notified(
                Content(title: "hi", remindAt: Timestamp(milliseconds: 0), actions: [ItemAction(id: "a", label: "A")])))
        // The flags take one more byte, and the count of awaiting items takes one.
        var asking = script.state
        (asking.events, asking.appliedSeq, asking.folded) = (EventIndex(), 23, 23)
        #expect(asking.packed.count == 38 + 21 * 5 + 2)
        var page = KeyIndex.Page(first: 0)
        page.entries = [KeyIndex.Entry(key: 1, value: 0)]
        page.tallies = [Tally(listed: 1, unseen: 1, unread: 1)]
        let before = page.packed.count
        page.tallies[0].awaiting = 1
        #expect(before == 8 + 1 + 1 + 9 + 1 + 3 && page.packed.count == before + 2)
    }

    @Test func itemsOutOfOrderAreDamage() {
        var page = ItemPage(first: 7)
        page.entries = [entry(7), entry(8)]
        var bytes = page.packed
        #expect(bytes[bytes.count - 5] == 1)
        bytes[bytes.count - 5] = 0
        #expect(throws: PackedError.damaged("item order")) { try bytes.unpacked(ItemPage.init(from:)) }
    }

    @Test func eventsBeyondTheLastNumberAreDamage() throws {
        for page in [
            EventIndex.Page(first: .max, packed: [0]), EventIndex.Page(first: .max, packed: [0, 1]),
            EventIndex.Page(first: Seq.highest, packed: [0, 1]), EventIndex.Page(first: 7, packed: [0, 0]),
        ] {
            #expect(throws: PackedError.damaged("event index")) { try page.seqs() }
        }
        #expect(try EventIndex.Page(first: Seq.highest, packed: [0]).seqs() == [Seq.highest])
    }

    @Test func aStateBeyondTheLastNumberIsDamage() throws {
        var state = TrayState()
        state.appliedSeq = Seq.highest
        #expect(try state.packed.unpacked(TrayState.init(from:)) == state)
        state.appliedSeq += 1
        #expect(throws: PackedError.damaged("state beyond its event")) {
            try state.packed.unpacked(TrayState.init(from:))
        }
    }

    /// A page is split before it outgrows an LMDB page; the estimate that spares packing must not be too low.
    @Test(arguments: UInt64(0)..<200)
    func theBoundOfAPageIsNotTooLow(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var page = ItemPage(first: 1 << 40)
        for index in 0..<UInt64(random.between(1, 60)) {
            var item = entry((1 << 40) + index * (1 << 24))
            (item.thread, item.category, item.argument) = (random.identity(), random.identity(), random.identity())
            item.summaryCount = .max
            item.flags = ItemFlags(rawValue: 0xff)
            page.entries.append(item)
        }
        for _ in 0..<random.below(20) { page.override(random.next() >> 20, .title, by: random.next() >> 20) }
        #expect(page.packedByteBound >= page.packed.count)
    }

    private func entry(_ position: UInt64) -> ItemEntry {
        ItemEntry(seq: position, position: position, thread: 0, category: 0, argument: 0, summaryCount: 1, flags: [])
    }
}

extension PackedForm {
    var packed: [UInt8] {
        var bytes: [UInt8] = []
        pack(into: &bytes)
        return bytes
    }
}
