import Foundation
import TestSupport
import Testing
@_spi(Operations) import Traylog
import TraylogDomain

/// A projection that counts unread items by category and time agrees with a loop over all trays.
@Suite struct TrayProjectionModelTests {
    @Test(arguments: seeds(3, nightly: 150))
    func unreadByCategoryAndDayAgreesWithAllTraysInRandomHistories(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: seed &+ 61)
            var run = try ModelRun(seed: seed, mix: (seed % 2 == 0 ? HistoryMix.typical : .crowded).with(.all)) {
                try Store.open(directory, options: options())
            }
            func check(_ what: String) throws {
                try within("seed \(seed), \(what)") { try expectAgreement(run.store) }
            }
            var followed = try store(run).projected(UnreadByDay.self)
            for round in 0..<6 {
                let projector = try store(run).project(UnreadByDay.self, storedEveryMilliseconds: round % 2 * 5)
                try run.play(steps: 40, checkEvery: .max)
                if round == 2 { try projector.rebuild() }
                let value = try projector.value()
                try within("seed \(seed), running, round \(round)") {
                    try expectSame(lines(unread(store(run))), lines(value.counts), "unread by category and day")
                }
                try check("folded from what is stored, round \(round)")
                try store(run).advance(&followed)
                try within("seed \(seed), followed, round \(round)") {
                    try expectSame(
                        lines(unread(store(run))), lines(followed.value.counts), "unread by category and day")
                }
                // While it runs, while it is stopped, and while it is far behind.
                if round == 3 { try run.compact(atPercent: random.pick([30, 70, 100])) }
                projector.stop()
                if round == 4 {
                    try run.play(steps: 40, checkEvery: .max)
                    try run.compact(atPercent: random.pick([50, 90, 100]))
                }
                try check("stopped, round \(round)")
                if round % 2 == 1 { try run.reopen() }
            }
            try erase(store(run), &random)
            try check("after an erasure")
            store(run).close()
        }
    }

    /// Erases somebody, and gives the name to a newcomer.
    private func erase(_ store: Store, _ random: inout SeededRandom) throws {
        let projector = try store.project(UnreadByDay.self)
        guard let user = try store.users().elements.first else { return }
        try store.perform(.notify(user, title: "Before", category: "c"))
        _ = try projector.value()
        try store.erase(user)
        #expect(try projector.value().counts == unread(store))
        try store.perform([.notify(user, title: "After", category: "c"), .notify(user, title: "More")])
        try store.perform(.markAll(.read, of: user))
        try store.perform(.notify(user, title: "Unread", category: "c"))
        #expect(try projector.value().counts == unread(store))
        projector.stop()
    }

    @Test func anotherProcessFoldsTheSame() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "traylog-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        await #expect(processExitsWith: .success) { [directory = directory as String] in try write(directory) }
        try expectTheSame(directory)
    }

    private func expectTheSame(_ directory: String) throws {
        let reader = try StoreReader.open(directory)
        let found = try reader.projected(UnreadByDay.self)
        guard case .resumed(let position) = found.origin else { throw TestDifference("\(found.origin)") }
        #expect(try position > 0 && position < reader.head())
        #expect(try found.value.counts == unread(reader))
        reader.close()
    }

    @Test func changesSayWhatAnEventDid() throws {
        let store = try Store.temporary(options: StoreOptions(ticking: .manual))
        _ = try store.project(Listed.self)
        try store.perform([.subscribe("ann", to: "t"), .subscribe("bob", to: "t"), .mute(.thread("x"), of: "bob")])
        try store.perform(.broadcast(to: "t", Content(thread: "x", title: "For both")))
        try store.perform(.markAll(.read, of: "ann"))
        try store.perform(.undo(5, of: "ann"))
        try store.perform(.snooze(4, of: "ann", until: Timestamp(milliseconds: 1)))
        try store.tick(now: Timestamp(milliseconds: 2))
        try store.perform(.notify("ann", Content(title: "1", collapseKey: "k")))
        try store.perform(.notify("ann", Content(title: "2", collapseKey: "k")))
        try store.perform(.retractBroadcast(4))
        #expect(
            try store.projected(Listed.self).value.lines == [
                "1 subscribed", "2 subscribed", "3 muted",
                "4 broadcast ann/4 - unread, bob/4 - read or muted",
                "5 allMarked ann/4 unread read or muted", "6 undone ann/4 read or muted unread",
                "7 snoozed ann/4 unread read or muted", "8 woken ann/4 read or muted unread",
                "9 notified ann/9 - unread", "10 notified ann/9 unread read or muted, ann/10 - unread",
                "11 retracted ann/4 unread read or muted, bob/4 read or muted read or muted",
            ])
        store.close()
    }
}

/// Plays a history with a projection that stops before its end, in a process of its own.
private func write(_ directory: String) throws {
    var run = try ModelRun(seed: 9, mix: HistoryMix.typical.with(.all)) {
        try Store.open(directory, options: options())
    }
    try run.play(steps: 80, checkEvery: .max)
    let projector = try store(run).project(UnreadByDay.self)
    _ = try projector.value()
    projector.stop()
    try run.play(steps: 40, checkEvery: .max)
    store(run).close()
}

private struct TestDifference: Error {
    let text: String
    init(_ text: String) { self.text = text }
}

private func options() -> StoreOptions {
    StoreOptions(durability: .relaxed, ticking: .manual, tailEvents: 200)
}

private func store(_ run: ModelRun) -> Store {
    guard let store = run.store as? Store else { preconditionFailure("The run has a store.") }
    return store
}

private func expectAgreement(_ store: any StoreUnderTest) throws {
    guard let store = store as? Store else { preconditionFailure("The run has a store.") }
    try expectSame(
        lines(unread(store)), lines(store.projected(UnreadByDay.self).value.counts), "unread by category and day")
    let fresh = try store.projected(Unstored.self)
    try expectSame(
        lines(unread(store)), lines(fresh.value.base.counts), "unread by category and day, folded from the beginning")
}

/// In an order that a difference can be read in.
private func lines(_ counts: [String: Int]) -> [String] { counts.map { "\($0): \($1)" }.sorted() }

/// What trays and inboxes say, one user after the other.
private func unread(_ store: some BlockingQueries) throws -> [String: Int] {
    var counts: [String: Int] = [:]
    for user in try store.users(limit: .max).elements {
        var query = InboxQuery(ItemFilter(onlyUnread: true), limit: 100)
        repeat {
            let page = try store.inbox(of: user, query)
            for item in page.elements where !item.isMuted { counts[UnreadByDay.key(item), default: 0] += 1 }
            query.cursor = page.next
        } while query.cursor != nil
    }
    return counts
}

private struct UnreadByDay: TrayProjection, Codable {
    static let name = "unread-by-day"
    static let version: UInt32 = 1

    private(set) var counts: [String: Int] = [:]

    init() {}

    /// Its days are short, so that a test has many; categories are different when their bytes are.
    static func key(_ item: Item) -> String {
        "\(item.content.category.map { Array($0.utf8) } ?? []) on day \(item.recordedAt.milliseconds / 20)"
    }

    mutating func apply(_ changes: [TrayChange], of event: Event) {
        for change in changes where change.wasUnread != change.isUnread {
            let key = Self.key(change.item)
            let count = counts[key, default: 0] + (change.isUnread ? 1 : -1)
            counts[key] = count == 0 ? nil : count
        }
    }

    func encoded() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) }
    init(decoding bytes: [UInt8]) throws { self = try JSONDecoder().decode(Self.self, from: Data(bytes)) }
}

/// The same, which no store has.
private struct Unstored: TrayProjection {
    static let name = "never-stored"
    static let version: UInt32 = 1

    private(set) var base = UnreadByDay()

    init() {}
    mutating func apply(_ changes: [TrayChange], of event: Event) { base.apply(changes, of: event) }
    func encoded() throws -> [UInt8] { try base.encoded() }
    init(decoding bytes: [UInt8]) throws { base = try UnreadByDay(decoding: bytes) }
}

/// A line for each event.
private struct Listed: TrayProjection, Codable {
    static let name = "listed"
    static let version: UInt32 = 1

    private(set) var lines: [String] = []

    init() {}

    mutating func apply(_ changes: [TrayChange], of event: Event) {
        let words = changes.map { change in
            let before = change.before.map { $0.isUnread ? "unread" : "read or muted" } ?? "-"
            return "\(change.user)/\(change.item.seq) \(before) \(change.isUnread ? "unread" : "read or muted")"
        }
        lines.append(
            (["\(event.seq) \(event.kind.rawValue)"] + [words.joined(separator: ", ")])
                .filter { !$0.isEmpty }.joined(separator: " "))
    }

    func encoded() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) }
    init(decoding bytes: [UInt8]) throws { self = try JSONDecoder().decode(Self.self, from: Data(bytes)) }
}
