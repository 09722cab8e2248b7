import TestSupport
import Testing
@_spi(Operations) import Traylog

/// Searches of the log, in both directions, with and without archives, against a filter over all events.
@Suite struct SearchTests {
    @Test func everyFilterFindsWhatALoopOverAllEventsFindsInBothDirections() throws {
        try withTemporaryDirectory { directory in
            var run = try ModelRun(seed: 5, mix: .typical.with(.all)) { try Store.open(directory, options: manual()) }
            try run.play(steps: 400, checkEvery: 400)
            let store = try #require(run.store as? Store)
            let all = try store.events(limit: .max).elements
            var found = 0
            for filter in filters(all) {
                let expected = all.filter(filter.matches).map(\.seq)
                found += expected.count
                for limit in sized([7], nightly: [1, 7, 10_000]) {
                    #expect(try walk(store, filter, newestFirst: false, limit, nil) == expected, "\(filter)")
                    #expect(try walk(store, filter, newestFirst: true, limit, nil) == expected.reversed(), "\(filter)")
                }
            }
            #expect(found > 500)
            store.close()
        }
    }

    @Test func aSearchFindsTheSameInArchives() throws {
        try withTemporaryDirectory { directory in
            var run = try ModelRun(seed: 6, mix: .typical.with(.all)) {
                try Store.open(directory + "/store", options: manual())
            }
            try run.play(steps: 300, checkEvery: 300)
            let store = try #require(run.store as? Store)
            let all = try store.events(limit: .max).elements
            _ = try store.compact(before: .seq(Seq(store.head().rawValue * 3 / 4)), archive: directory + "/old")
            let archives = try store.archives(in: directory + "/old")
            #expect(try store.events(limit: .max).elements.count < all.count)
            for filter in filters(all) {
                let expected = all.filter(filter.matches).map(\.seq)
                for newestFirst in [false, true] {
                    let seqs = try walk(store, filter, newestFirst: newestFirst, 50, archives).filter {
                        $0 <= all.last!.seq
                    }
                    #expect(seqs == (newestFirst ? expected.reversed() : expected), "\(filter)")
                }
            }
            store.close()
        }
    }

    @Test func textIsFoundInAnyCaseAndNamesByTheirBytes() throws {
        try withTemporaryDirectory { directory in
            let store = try Store.open(directory)
            let content = Content(thread: "é", title: "Grüße AUS Köln", body: "Bis bald")
            _ = try store.perform([
                Command(user: "ann", .notify(content), actor: "bob", device: "phone"),
                Command(user: "ann", .notify(Content(thread: "e\u{301}", title: "Other"))),
            ])
            var filter = EventFilter()
            filter.text = "grüSSe".replacing("SS", with: "ß")
            #expect(try store.events(matching: filter).elements.map(\.seq) == [1])
            filter.text = "bald"
            #expect(try store.events(matching: filter).elements.map(\.seq) == [1])
            filter = EventFilter()
            filter.thread = "e\u{301}"
            #expect(try store.events(matching: filter).elements.map(\.seq) == [2])
            filter = EventFilter()
            filter.actor = "ann"
            #expect(try store.events(matching: filter).elements.map(\.seq) == [2])
            #expect(throws: TraylogError.self) { try store.events(matching: filter, limit: -1) }
            store.close()
        }
    }
}

/// Filters that the events themselves suggest, alone and together.
private func filters(_ events: [Event]) -> [EventFilter] {
    var filters: [EventFilter] = []
    func add(_ set: (inout EventFilter) -> Void) {
        var filter = EventFilter()
        set(&filter)
        filters.append(filter)
    }
    for user in Set(events.compactMap(\.user)).sorted().prefix(3) {
        add { $0.user = user }
        add { $0.actor = user }
        add { ($0.user, $0.kinds) = (user, [.notified, .marked]) }
    }
    for event in events where event.device != nil || event.key != nil {
        add { ($0.device, $0.key) = (event.device, event.key) }
        if filters.count > 20 { break }
    }
    for case .notified(let content) in events.prefix(60).map(\.body) {
        add { ($0.thread, $0.category) = (content.thread, content.category) }
        if let title = content.title?.prefix(3), !title.isEmpty { add { $0.text = String(title) } }
        if filters.count > 50 { break }
    }
    let middle = events[events.count / 2].recordedAt
    add { $0.since = middle }
    add { $0.until = middle }
    add { ($0.since, $0.until) = (events[events.count / 4].recordedAt, middle) }
    return filters
}

private func walk(
    _ store: Store, _ filter: EventFilter, newestFirst: Bool, _ limit: Int, _ archives: Archives?
) throws -> [Seq] {
    var seqs: [Seq] = []
    var next: Seq?
    repeat {
        let page = try store.events(
            matching: filter, newestFirst: newestFirst, from: next, limit: limit, including: archives)
        seqs += page.elements.map(\.seq)
        next = page.next
    } while next != nil
    return seqs
}

private func manual() -> StoreOptions {
    var options = StoreOptions()
    options.ticking = .manual
    options.durability = .relaxed
    return options
}
