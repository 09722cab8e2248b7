import Testing
import TestSupport
import Traylog
import TraylogDomain

@Suite struct ComparisonTests {
    @Test func theModelAgreesWithItself() throws {
        var run = try ModelRun(seed: 1, mix: HistoryMix.typical.with(.all)) { NaiveBackedStore() }
        try run.play(steps: sized(75, nightly: 150), checkEvery: 30)
        // The transactions of a batch have no ticks.
        try run.playBatches(10, size: 6, checkEvery: 3)
        try run.finish(users: 2)
    }

    /// As long a history as the store's own tests play: what those cost without the store.
    @Test(arguments: [HistoryMix.crowded, .crowd, .heavy])
    func theModelAgreesWithItselfInEveryMix(mix: HistoryMix) throws {
        var run = try ModelRun(seed: 3, mix: mix.with(.all)) { NaiveBackedStore() }
        try run.play(steps: sized(150, nightly: 300), checkEvery: sized(50, nightly: 100))
        try run.finish(users: 2, depth: .sample(20))
    }

    @Test(arguments: Lie.allCases)
    func theComparisonFindsEveryLie(lie: Lie) throws {
        let mix = lie.isOfTopics ? HistoryMix.typical.with(.all) : .typical
        // Not every history has what the lie is about.
        var (seed, found) = (UInt64(1), Difference?.none)
        while found == nil, seed < 12 {
            seed += 1
            do {
                var run = try ModelRun(seed: seed, mix: mix) { NaiveBackedStore(twist: lie.twist) }
                try run.play(steps: lie.isOfTopics ? 500 : 200, checkEvery: 20)
                try run.finish(users: 3)
            } catch let difference as Difference {
                found = difference
            }
        }
        let text = try #require(found).description
        #expect(text.hasPrefix("seed \(seed), "), "\(text)")
        #expect(text.contains(lie.trace), "\(text)")
        #expect(text.count < 1_500, "\(text)")
    }
}

/// One way in which a store may be wrong, and what the failure must name.
enum Lie: String, CaseIterable, CustomTestStringConvertible {
    case countsOneMore, newestOfTheSilent, categoryForgotten
    case itemTwice, pageNotFilled, itemForgotten, endNotSaid, otherNormalForm
    case summaryOfAll, groupForgotten
    case eventBodyChanged, clockStepsBack, userForgotten, receiptOffByOne, itemMuted
    case recipientForgotten, answerMiscounted, readTooLate

    var testDescription: String { rawValue }

    /// Only a history with broadcasts shows it.
    var isOfTopics: Bool { [.recipientForgotten, .answerMiscounted, .readTooLate].contains(self) }

    var trace: String {
        switch self {
        case .countsOneMore: "tray, unread"
        case .newestOfTheSilent: "tray, newest"
        case .categoryForgotten: "tray, categories"
        case .itemTwice, .pageNotFilled, .itemForgotten, .endNotSaid, .otherNormalForm: "InboxQuery"
        case .summaryOfAll, .groupForgotten: "threads limit"
        case .eventBodyChanged: "events"
        case .clockStepsBack: "recordedAt"
        case .userForgotten: "users"
        case .receiptOffByOne: "result"
        case .itemMuted: "item"
        case .recipientForgotten, .answerMiscounted: "audience"
        case .readTooLate: "recipients"
        }
    }

    var twist: NaiveBackedStore.Twist {
        var twist = NaiveBackedStore.Twist()
        switch self {
        case .countsOneMore: twist.tray = changed { $0.unread += $0.total > 2 ? 1 : 0 }
        case .newestOfTheSilent: twist.tray = changed { $0.newest = $0.newest.map { Seq($0.rawValue + 1) } }
        case .categoryForgotten: twist.tray = changed { if !$0.categories.isEmpty { $0.categories.removeFirst() } }
        case .itemTwice: twist.inbox = changed { $0.elements += $0.elements.suffix(1) }
        case .pageNotFilled: twist.inbox = changed { if $0.elements.count == 7 { $0.elements.removeLast() } }
        case .itemForgotten: twist.inbox = changed { $0.elements.removeAll { $0.seq.rawValue % 5 == 0 } }
        case .endNotSaid:
            twist.inbox = changed { $0.next = $0.next ?? $0.elements.last.map { Cursor(before: $0.position) } }
        case .otherNormalForm:
            twist.inbox = changed { page in
                for place in page.elements.indices {
                    page.elements[place].content.title?.replace("\u{e9}", with: "e\u{301}")
                }
            }
        case .summaryOfAll: twist.threads = changed { if !$0.elements.isEmpty { $0.elements[0].more += 1 } }
        case .groupForgotten: twist.threads = changed { $0.elements = $0.elements.filter { $0.thread != nil } }
        case .eventBodyChanged: twist.events = changed { if $0.count > 40 { $0[40].body = .erased(spans: []) } }
        case .clockStepsBack: twist.events = changed { if $0.count > 40 { $0[40].recordedAt = at(0) } }
        case .itemMuted: twist.item = changed { $0.isMuted.toggle() }
        case .userForgotten: twist.users = changed { if $0.count > 3 { $0.remove(at: 2) } }
        case .recipientForgotten: twist.audience = changed { $0.recipients -= $0.recipients > 0 ? 1 : 0 }
        case .answerMiscounted:
            twist.audience = changed { if !$0.outcomes.isEmpty { $0.outcomes[0].count += 1 } }
        case .readTooLate: twist.recipients = changed { if !$0.isEmpty { $0[0].read = .init(seq: 1, at: at(0)) } }
        case .receiptOffByOne:
            twist.receipt = { receipt in
                if case .duplicate(let seq) = receipt { .duplicate(Seq(seq.rawValue + 1)) } else { receipt }
            }
        }
        return twist
    }
}

private func changed<Value>(_ change: @escaping @Sendable (inout Value) -> Void) -> @Sendable (Value) -> Value {
    { value in
        var value = value
        change(&value)
        return value
    }
}
