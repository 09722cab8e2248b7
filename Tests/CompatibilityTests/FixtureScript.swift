import Foundation
import TestSupport
import TraylogDomain

@_spi(Operations) @testable import Traylog

/// The events in a fixture's store: every kind, and enough of each for every kind of row.
struct FixtureScript {
    private let store: Store
    private var seqs: [Seq] = []

    /// Fills a store that does not exist yet.
    static func fill(_ directory: String) throws {
        var options = StoreOptions()
        options.ticking = .manual
        options.tailEvents = 40
        options.landmarkDistance = 60
        let store = try Store.open(directory, options: options)
        var script = FixtureScript(store: store)
        try script.play()
        store.close()
        // A tail that stored states do not hold.
        options.tailEvents = 100_000
        let again = try Store.open(directory, options: options)
        _ = try again.perform(Command(user: "ann", .notify(Content(title: "The newest"))))
        again.close()
    }

    private init(store: Store) { self.store = store }

    private mutating func play() throws {
        try perform("ann", .subscribe(topic: "news"))
        try perform("bob", .subscribe(topic: "news"))
        try perform("ann", .mute(.category("noise")))
        try perform("bob", .mute(.thread("loud")))
        try fillAnn()
        try fillCleo()
        try decideAndRemind()
        try wakeAndUndo()
        try theRest()
        try schedule()
        try project()
    }

    /// Answers, reminders, and mutes with an end.
    private mutating func decideAndRemind() throws {
        let actions = [ItemAction(id: "yes", label: "Yes"), ItemAction(id: "no", label: "No")]
        for index in 0..<4 {
            let content = Content(title: "Deploy \(index)?", remindAt: Self.time(index), actions: actions)
            try perform("dora", .notify(content))
            let item = try store.head()
            if index < 2 { try answer(item, index == 0 ? "yes" : "no", asOf: index == 0 ? item : nil) }
        }
        try perform("dora", .mute(.all, until: Self.time(10)))
        try perform("dora", .mute(.thread("late"), until: Self.time(90_000)))
        try perform("dora", .notify(Content(title: "Quiet", actions: actions)))
        _ = try store.tick(now: Self.time(20))
    }

    /// Enough items for tallies of threads and categories, and marks of some of them at once.
    private mutating func fillCleo() throws {
        for index in 0..<640 {
            var content = Content(thread: index % 3 == 0 ? nil : "t\(index % 7)", title: "Title \(index)")
            content.category = ["build", nil, "mail"][index % 3]
            try perform("cleo", .notify(content))
            if index % 90 == 80 { try perform("cleo", .markAll(.read, ItemFilter(thread: .named("t\(index % 7)")))) }
        }
    }

    /// Item pages, key pages of keys and collapse keys, chunks, categories, threads.
    private mutating func fillAnn() throws {
        for index in 0..<230 {
            var content = Content(thread: index % 3 == 0 ? nil : "t\(index % 5)", title: "Title \(index)")
            content.category = ["build", "noise", nil, "mail"][index % 4]
            content.summaryArgument = index % 7 == 0 ? nil : "Name \(index % 6)"
            content.summaryCount = UInt32(index % 3)
            content.collapseKey = index % 5 == 0 ? nil : "c\(index)"
            content.isSilent = index % 17 == 0
            content.level = InterruptionLevel.allCases[index % InterruptionLevel.allCases.count]
            if index % 50 == 0 { content.body = String(repeating: "Long… ", count: 900) }
            if index % 20 == 0 { content.expiresAt = Self.time(index) }
            if index % 30 == 0 { content.data = #"{"n":[1,2.50,null,"\u00e9"]}"# }
            let command = Command(
                user: "ann", .notify(content), key: "k\(index)", occurredAt: index % 9 == 0 ? Self.time(-index) : nil,
                actor: index % 4 == 0 ? "dan" : nil, device: index % 5 == 0 ? "phone 📱" : nil)
            seqs.append(try store.perform(command).seq ?? .zero)
            try perform("bob", .notify(Content(title: "To Bob \(index)", collapseKey: "same")))
            try perform("user\(index % 30)", .notify(Content(thread: "loud", title: "Hi")))
            if index % 40 == 0 {
                try broadcast(Content(title: "News \(index)", expiresAt: index == 40 ? Self.time(1) : nil))
            }
        }
    }

    /// Key pages of moved items and voided events, event pages, pages as landmarks need them.
    private mutating func wakeAndUndo() throws {
        for index in 0..<140 {
            let item = ItemReference.key("k\(index % 75 * 3 + 1)")
            try perform("ann", .snooze(item, until: Self.time(1_000)))
            try perform("ann", .wake(item))
            let mark = try store.perform(Command(user: "ann", .mark(.archived, [.key("k\(index % 75 * 3 + 2)")])))
            guard let event = mark.seq else { continue }
            try perform("ann", .undo(event: event))
        }
    }

    private mutating func theRest() throws {
        try perform("ann", .seeTray(upTo: seqs[100]))
        for mark in BulkMark.allCases {
            try perform("bob", .markAll(mark, ItemFilter(category: mark == .read ? "mail" : nil), upTo: 20))
        }
        for (index, mark) in Mark.allCases.enumerated() {
            try perform("ann", .mark(mark, [.seq(seqs[150 + index % 3]), .seq(seqs[120])]))
        }
        try perform("ann", .markAll(.read, ItemFilter(thread: .named("t1"))))
        try perform("ann", .markAll(.deleted, ItemFilter(thread: .unthreaded), upTo: seqs[30]))
        var edit = ContentEdit()
        edit.title = .set("Edited")
        edit.body = .clear
        edit.summaryCount = .set(9)
        edit.data = .set("[1]")
        try perform("ann", .edit(.key("k200"), edit))
        try perform("ann", .retract(.key("k201")))
        try perform("ann", .snooze(.key("k210"), until: Self.time(0)))
        try perform("ann", .snooze(.key("k211"), until: Self.time(90_000)))
        try perform("ann", .unmute(.category("noise")))
        try perform("bob", .unsubscribe(topic: "news"))
        try broadcast(Content(title: "Ann alone"))
        try store.tick(now: Self.time(10))
    }

    /// What arrives, and what is still to come.
    private func schedule() throws {
        try perform("eve", .subscribe(topic: "news"))
        for seconds in [30, 40, 95_000] {
            let content = Content(
                thread: "plan", title: "At \(seconds)", expiresAt: Self.time(100_000), notBefore: Self.time(seconds))
            try perform("eve", .notify(content))
            try broadcast(content)
        }
        try store.tick(now: Self.time(40))
        try perform("eve", .markAll(.read, ItemFilter(thread: .named("plan"))))
    }

    private func project() throws {
        _ = try store.project(MainDigest.self).value()
        _ = try store.project(Weighted<Chunked>.self).value()
    }

    private func answer(_ item: Seq, _ action: String, asOf: Seq?) throws {
        try perform("dora", .act(.seq(item), action: action, note: "Fine", asOf: asOf))
    }

    private func perform(_ user: String, _ action: Command.Action) throws {
        _ = try store.perform(Command(user: user, action))
    }

    private func broadcast(_ content: Content) throws {
        _ = try store.perform(Command(user: nil, .broadcast(topic: "news", content)))
    }

    private static func time(_ seconds: Int) -> Timestamp {
        Timestamp(milliseconds: 1_900_000_000_000 + Int64(seconds) * 1_000)
    }

    /// A value in several chunks.
    enum Chunked: Weight { static let bytesPerEvent = 16 }
}
