import Foundation
import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogWriter

/// A store that ticks by itself, by the system's clock.
@Suite
struct AutomaticTickingTests {
    private func withTickingStore(_ path: String, _ body: (Store) async throws -> Void) async throws {
        let store = try Store.open(path, options: StoreOptions())
        defer { store.close() }
        try await body(store)
    }

    /// The tray of ann once it is as wanted, however long that takes.
    private func wait(_ store: Store, until isThere: (Tray) -> Bool) async throws {
        for try await tray in store.trayUpdates(of: "ann") where isThere(tray) { return }
    }

    private func milliseconds(fromNow distance: Int64) -> Timestamp {
        Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000) + distance)
    }

    @Test func dueItemsWakeAutomatically() async throws {
        try await withStorePath { path in
            try await withTickingStore(path) { store in
                let soon = milliseconds(fromNow: 150)
                _ = try await store.perform([
                    command("ann", .notify(Content(expiresAt: soon))), notify("ann"),
                    command("ann", .subscribe(topic: "t")),
                    command(nil, .broadcast(topic: "t", Content(expiresAt: soon))),
                    // In the same transaction, because the time may have come before the next one.
                    command("ann", .snooze(.seq(2), until: soon)),
                ])
                #expect(try await store.tray(of: "ann", asOf: .seq(5)).total == 2)
                try await wait(store) { $0.total == 1 && $0.newest ?? 0 > 5 }
                let events = try await store.log.events(from: 6, limit: .max).elements
                #expect(events.map(\.body) == [.expired(item: 1), .woken(item: 2), .expired(item: 4)])
                #expect(events.allSatisfy { $0.recordedAt >= soon })
            }
        }
    }

    @Test func itemsDueWhileTheStoreWasClosedWakeWhenItOpens() async throws {
        try await withStorePath { path in
            try withStore(path) { store throws in
                _ = try store.perform([notify("ann"), command("ann", .snooze(.seq(1), until: .at(5)))])
            }
            try await withTickingStore(path) { store in try await wait(store) { $0.total == 1 } }
        }
    }

    @Test(arguments: [Command.Action.mark(.restored, [.seq(1)]), .undo(event: 3)])
    func aDeletedItemWakesAsSoonAsItIsBack(back: Command.Action) async throws {
        try await withStorePath { path in
            try withStore(path) { store throws in
                _ = try store.perform([
                    notify("ann"), command("ann", .snooze(.seq(1), until: .at(5))),
                    command("ann", .mark(.deleted, [.seq(1)])),
                ])
            }
            try await withTickingStore(path) { store in
                #expect(try await store.tick() == TickReport(head: 3))
                _ = try await store.perform(command("ann", back))
                try await wait(store) { $0.total == 1 }
                #expect(try await store.log.events(from: 4, limit: .max).elements.map(\.kind).last == .woken)
            }
        }
    }

    @Test func aStoreWithManualTickingWaitsForItsTicks() throws {
        try withStorePath { path in
            try withStore(path) { store throws in
                _ = try store.perform([notify("ann"), command("ann", .snooze(.seq(1), until: .at(5)))])
                for _ in 0..<50 { _ = try store.perform(notify("bob")) }
                #expect(try store.tray(of: "ann").total == 0)
            }
            try withStore(path) { store throws in
                #expect(try store.head() == 52)
                #expect(try store.tick().woken == 1)
            }
        }
    }
}
