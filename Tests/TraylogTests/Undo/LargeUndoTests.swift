import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@testable import TraylogChecks
@testable import TraylogDomain

/// Undoing what covers thousands of items, most of them in sealed pages that are stored.
@Suite struct LargeUndoTests {
    private static let count = sized(1_000, nightly: 200_000)

    private static let marks: [Command.Action] = [
        .seeTray(), .markAll(.read), .markAll(.archived, ItemFilter(thread: .named("t1"))),
        .markAll(.deleted, ItemFilter(category: "c2"), upTo: Seq(UInt64(count / 2))), .markAll(.deleted),
    ]

    @Test(arguments: marks)
    func undoOfABulkMarkIsExact(mark: Command.Action) throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store throws in try fill(store) }
            let event = Seq(UInt64(Self.count + 6))
            let (before, marked) = try withStore(path, options(tailEvents: 40, cacheBytes: 1 << 18, isRelaxed: true)) {
                store throws in
                let before = try answers(store)
                #expect(try store.perform(command("ann", mark)) == .appended(event))
                let marked = try answers(store)
                #expect(marked != before)
                // Other marks over and under it, and pages written in between.
                let other = try #require(
                    try store.perform(command("ann", .markAll(.seen, ItemFilter(category: "c0")))).seq)
                for _ in 0..<60 { _ = try store.perform(notify("bob")) }
                _ = try store.perform(command("ann", .undo(event: event)))
                _ = try store.perform(command("ann", .undo(event: other)))
                #expect(try answers(store) == before)
                return (before, marked)
            }
            try withReader(path) { reader throws in
                #expect(try answers(reader) == before)
                #expect(try answers(reader, asOf: .seq(event)) == marked)
                // The undone mark and the one over it, and by which events.
                let voided = try reader.voidedEvents(of: "ann")
                #expect(voided[event] == Seq(event.rawValue + 62) && voided.count == 2)
                #expect(try reader.voidedEvents(of: "bob").isEmpty)
            }
            #expect(try replay(path).identical)
        }
    }

    /// Items of three threads and categories, with a few marks of all sorts, some of them range marks.
    private func fill(_ store: Store) throws {
        for start in stride(from: 0, to: Self.count, by: 500) {
            _ = try store.perform(
                (start..<start + 500).map { index in
                    command("ann", .notify(Content(thread: "t\(index % 3)", category: "c\(index % 4)")))
                })
        }
        let some = stride(from: 1, to: Self.count, by: Self.count / 50).map { ItemReference.seq(Seq(UInt64($0))) }
        _ = try store.perform([
            command("ann", .markAll(.read, ItemFilter(), upTo: Seq(UInt64(Self.count / 3)))),
            command("ann", .mark(.archived, some)), command("ann", .mark(.unread, some)),
            command("ann", .markAll(.archived, ItemFilter(thread: .named("t2"), category: "c1"))),
            command("ann", .seeTray(upTo: Seq(UInt64(Self.count / 4)))),
        ])
    }

    /// The tray, and pages at 8 depths of both views.
    private func answers(_ store: some BlockingQueries, asOf: Moment? = nil) throws -> [String] {
        var tray = try store.tray(of: "ann", asOf: asOf)
        // They name the moment, which is a later one.
        (tray.asOf, tray.revision) = (0, 0)
        var answers = ["\(tray)"]
        for view in [InboxQuery.View.inbox, .archived] {
            for before in stride(from: Self.count + 1, to: 1, by: -Self.count / 8) {
                let query = InboxQuery(view: view, limit: 30, cursor: Cursor(before: Seq(UInt64(before))))
                let items = try store.inbox(of: "ann", query, asOf: asOf).elements
                answers.append("\(items.map { "\($0.seq) \($0.isSeen) \($0.isRead) \($0.isArchived)" })")
            }
        }
        return answers
    }
}
