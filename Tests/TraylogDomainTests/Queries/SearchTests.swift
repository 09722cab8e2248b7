import TestSupport
import Testing

@testable import TraylogDomain

@Suite struct SearchTests {
    private static let texts = [
        "Die Straße nach Köln", "GROẞE GRÖSSE", "İstanbul'da ılık IŞIK", "ΟΔΥΣΣΕΥΣ και Οδυσσέας ς", "مُحَمَّد إلى القاهرة",
        "ﾊﾟｿｺﾝ パソコン ぱそこん", "日本語の検索", "👩‍👩‍👧 ❤️ 👍🏽 👍", "e\u{301}te\u{301} naïve", "①½ﬁﬂ ﷺ", "한국어 하늘",
        "a\u{323}\u{302}b\u{336}c", "हिन्दी में",
        "ภาษาไทย", "x\u{200d}y\u{ad}z",
    ]

    /// Every part of every text, in any case and form, is found in the items that a loop over all of them finds.
    @Test(arguments: seeds(1, nightly: 100))
    func aSearchFindsWhatALoopOverAllItemsFinds(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var script = Script()
        var contents: [Content] = []
        for _ in 0..<120 {
            var content = Content()
            if random.chance(80) { content.title = random.pick(Self.texts) }
            if random.chance(60) { content.body = "\(random.pick(Self.texts))\n\(random.pick(Self.texts))" }
            try script.notify(1, content)
            contents.append(content)
        }
        for _ in 0..<sized(50, nightly: 100) {
            let words = (0...random.below(2)).map { _ in part(&random) }
            let text = words.joined(separator: random.pick([" ", "\u{3000}", "\t\n "]))
            let expected = contents.indices.filter { index in
                let texts = [contents[index].title, contents[index].body].compactMap(\.self).map(NaiveText.folded)
                return words.flatMap { $0.split(whereSeparator: \.isWhitespace) }.allSatisfy { word in
                    texts.contains { NaiveText.contains($0, NaiveText.folded(String(word))) }
                        || NaiveText.folded(String(word)).isEmpty
                }
            }
            var found: [UInt64] = []
            var query = InboxQuery(ItemFilter(text: text), limit: random.between(1, 30))
            repeat {
                let page = try script.inbox(query)
                found += page.seqs
                query.cursor = page.next
            } while query.cursor != nil
            #expect(found.reversed() == expected.map { UInt64($0) + 1 }, "seed \(seed): \(text.debugDescription)")
        }
    }

    private func part(_ random: inout SeededRandom) -> String {
        let text = Array(random.pick(Self.texts).unicodeScalars)
        let start = random.below(text.count)
        let part = String(String.UnicodeScalarView(text[start..<min(text.count, start + random.between(1, 6))]))
        switch random.below(4) {
        case 0: return part.uppercased()
        case 1: return part.lowercased()
        case 2: return NaiveText.folded(part)
        default: return part
        }
    }

    @Test func wordsMayStandInTitleAndBody() throws {
        var script = Script()
        try script.notify(1, Content(title: "Rechnung März", body: "Bitte zahlen"))
        try script.notify(1, Content(title: "Rechnung", body: nil))
        func found(_ text: String) throws -> [UInt64] { try script.inbox(InboxQuery(ItemFilter(text: text))).seqs }
        #expect(try found("marz RECHNUNG zahl") == [1])
        #expect(try found("rechnung") == [2, 1])
        #expect(try found("rechnungmärz") == [])
        #expect(try found("") == [2, 1])
        #expect(try found(" \u{301} ") == [2, 1])
    }

    @Test func levelAndTextLookAtTheItemAsEdited() throws {
        var script = Script()
        try script.notify(2, Content(title: "old", level: .critical))
        var edit = ContentEdit()
        (edit.title, edit.level) = (.set("new"), .set(.passive))
        try script.append(.edited(item: 1, edit))
        func found(_ filter: ItemFilter) throws -> [UInt64] { try script.inbox(InboxQuery(filter)).seqs }
        #expect(try found(ItemFilter(text: "old")) == [2])
        #expect(try found(ItemFilter(text: "new")) == [1])
        #expect(try found(ItemFilter(level: .active)) == [2])
        #expect(try found(ItemFilter(level: .passive)) == [2, 1])
    }

    @Test func aSearchPageEndsEarlyOnlyAtTheScanLimit() throws {
        var script = Script()
        let count = InboxQuery.searchedItems
        try script.notify(1, Content(title: "needle"))
        try script.notify(count - 1)
        var query = InboxQuery(ItemFilter(text: "needle"), limit: 1)
        var page = try script.inbox(query)
        #expect(page.seqs == [1] && page.next == nil)
        try script.notify(1)
        page = try script.inbox(query)
        #expect(page.seqs == [] && page.next == Cursor(before: 2))
        query.cursor = page.next
        page = try script.inbox(query)
        #expect(page.seqs == [1] && page.next == nil)
    }

    @Test func aSearchSinceATimeEndsAtTheFirstOlderItem() throws {
        var script = Script()
        try script.notify(300)
        let since = script.log[250].recordedAt
        let page = try script.inbox(InboxQuery(ItemFilter(since: since), limit: 100))
        let expected = script.log.filter { $0.recordedAt >= since }.map(\.seq.rawValue)
        #expect(page.seqs == expected.reversed().prefix(100).map(\.self))
    }

    @Test func badPartsOfAQueryAreRefusedByName() {
        func field(_ filter: ItemFilter) -> String? {
            do throws(Refusal) { try InboxQuery(filter).validate() } catch {
                if case .invalid(let field, _) = error { return field }
            }
            return nil
        }
        #expect(field(ItemFilter(actor: "")) == "actor")
        #expect(field(ItemFilter(actor: "a\nb")) == "actor")
        #expect(field(ItemFilter(since: Timestamp(milliseconds: .max))) == "since")
        #expect(field(ItemFilter(until: Timestamp(milliseconds: .min))) == "until")
        #expect(field(ItemFilter(text: String(repeating: "x", count: 1_025))) == "text")
        #expect(field(ItemFilter(text: String(repeating: "x", count: 1_024))) == nil)
    }
}
