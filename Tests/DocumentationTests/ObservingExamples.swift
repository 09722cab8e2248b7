import Foundation
import Synchronization
import Testing
import Traylog
import TraylogDomain

/// The Swift blocks of the guide to observing, compiled and run; DocumentationTests compares the texts.
@Suite struct ObservingExamples {
    /// What an app would show.
    private final class Screen {
        let changes = Changes()
        var badge = 0 { didSet { changes.note() } }
        var tabs: [String: Int] = [:] { didSet { changes.note() } }
        var items: [Item] = [] { didSet { changes.note() } }

        func show(_ items: [Item]) { self.items = items }
        func scrollToTop() {}
    }

    /// How often it changed.
    private final class Changes: Sendable {
        let count = Atomic(0)

        func note() { count.wrappingAdd(1, ordering: .releasing) }
    }

    private let screen = Screen()

    private func withStore(_ body: (Store) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("traylog-example-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let store = try Store.open(directory.path)
        defer { store.close() }
        _ = try await store.perform(Command(user: "ann", .notify(Content(category: "message", title: "Hi"))))
        try await body(store)
    }

    /// Closes the store once the screen shows something, so that an iteration ends.
    private func closeSoon(_ store: Store) {
        let changes = screen.changes
        Task {
            while changes.count.load(ordering: .acquiring) == 0 { try await Task.sleep(for: .milliseconds(5)) }
            await store.close()
        }
    }

    @Test func aBellShowsTheUnreadCount() async throws {
        try await withStore { store in
            closeSoon(store)
            // example: bell
            for try await tray in store.trayUpdates(of: "ann") {
                screen.badge = tray.unseen
            }
            // end
            #expect(screen.badge == 1)
        }
    }

    @Test func tabs() async throws {
        try await withStore { store in
            closeSoon(store)
            // example: tabs
            for try await tray in store.trayUpdates(of: "ann") {
                for tab in ["message", "build"] { screen.tabs[tab] = tray[category: tab].unread }
            }
            // end
            #expect(screen.tabs == ["message": 1, "build": 0])
        }
    }

    @Test func aListOnTheScreenIsSeen() async throws {
        try await withStore { store in
            let page = try await store.inbox(of: "ann")
            // example: see
            try await store.seeTray(of: "ann", upTo: page.asOf)
            // end
            let isSeen = try await store.tray(of: "ann").isSeen
            #expect(isSeen)
        }
    }

    // example: dot of this device
    /// The newest position that this device has shown of each account.
    private func hasDot(_ tray: Tray, shownHere: [String: Seq]) -> Bool {
        guard let newest = tray.newestCounted else { return false }
        return newest > shownHere[tray.user] ?? .zero
    }
    // end

    @Test func dotsOfManyAccounts() async throws {
        try await withStore { store in
            let (ann, bob) = (try await store.tray(of: "ann"), try await store.tray(of: "bob"))
            #expect(hasDot(ann, shownHere: [:]) && !hasDot(bob, shownHere: [:]))
            #expect(!hasDot(ann, shownHere: ["ann": 1]))
            _ = try await store.perform(Command(user: "cy", .mute(.thread("noise"))))
            _ = try await store.perform(Command(user: "cy", .notify(Content(thread: "noise"))))
            let cy = try await store.tray(of: "cy")
            #expect(cy.newest != nil && !hasDot(cy, shownHere: [:]), "muted items light no dot")
            let dots = AsyncStream<(String, Seq?)>.makeStream()
            let newest = Task {
                var newest: [String: Seq?] = [:]
                for await (account, seq) in dots.stream {
                    newest.updateValue(seq, forKey: account)
                    if newest.count == 2 { await store.close() }
                }
                return newest
            }
            // example: accounts
            try await withThrowingTaskGroup(of: Void.self) { group in
                for account in ["ann", "bob"] {
                    group.addTask {
                        for try await tray in store.trayUpdates(of: account) {
                            dots.continuation.yield((account, tray.newestCounted))
                        }
                    }
                }
                try await group.waitForAll()
            }
            // end
            dots.continuation.finish()
            #expect(await newest.value == ["ann": 1, "bob": nil])
        }
    }

    @Test func aBulkMarkSparesItemsThatArrivedSince() async throws {
        try await withStore { store in
            // example: mark all
            let page = try await store.inbox(of: "ann")
            screen.show(page.elements)
            // Meanwhile something arrives that is not on the screen.
            try await store.notify("ann", title: "Just now")
            try await store.markAll(.read, of: "ann", upTo: page.asOf)
            // end
            let unread = try await store.tray(of: "ann").unread
            #expect(unread == 1)
        }
    }

    @Test func aFetcherLoadsPagesWhileScrolling() async throws {
        try await withStore { store in
            // example: fetcher
            let fetcher = try InboxFetcher(store, of: "ann", pageSize: 20)
            try await fetcher.fetchNew()
            screen.show(fetcher.items)
            // end

            // example: scroll
            if !fetcher.endReached {
                try await fetcher.fetchNextPage()
                screen.show(fetcher.items)
            }
            // end

            // example: refresh
            let result = try await fetcher.fetchNew()
            screen.show(fetcher.items)
            if result.hasGap { screen.scrollToTop() }
            // end

            let item = fetcher.items[0]
            // example: marks
            try await fetcher.mark(.read, item)
            try await fetcher.markAllAsRead()
            try await fetcher.mark(.deleted, item)
            // end
            #expect(screen.items.count == 1)
            #expect(fetcher.items.isEmpty)
        }
    }

    @Test func aLiveList() async throws {
        try await withStore { store in
            let fetcher = try InboxFetcher(store, of: "ann")
            closeSoon(store)
            // example: live list
            for try await _ in store.trayUpdates(of: "ann") {
                try await fetcher.fetchNew()
                screen.show(fetcher.items)
            }
            // end
            #expect(screen.items.count == 1)
        }
    }

    @Test func followingTheLog() async throws {
        try await withStore { store in
            closeSoon(store)
            var position: Seq = .zero
            var pushed = 0
            func push(_ content: Content) {
                pushed += 1
                screen.changes.note()
            }
            // example: follow
            for try await event in store.follow(after: position) {
                if case .notified(let content) = event.body { push(content) }
                position = event.seq
            }
            // end
            #expect(position == 1)
            #expect(pushed == 1)
        }
    }

    @Test func aLoopOverTheLogIsStopped() async throws {
        try await withStore { store in
            let position: Seq = .zero
            // example: stop
            let stopper = Stopper()
            let following = Task {
                var seen: [Seq] = []
                for try await event in store.follow(after: position, stopper: stopper) { seen.append(event.seq) }
                return seen
            }
            stopper.stop()  // or following.cancel()
            print(try await following.value)
            // end
            #expect(try await following.value.count <= 1)
        }
    }
}
