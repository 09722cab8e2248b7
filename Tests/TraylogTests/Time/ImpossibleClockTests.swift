import Synchronization
import TestSupport
import Testing
@_spi(Operations) import Traylog

/// A wrong clock must not stamp an event with a time that nobody can write, because times in the log never decrease.
@Suite struct ImpossibleClockTests {
    private final class Clock: Sendable {
        let milliseconds = Mutex<Int64>(0)
        var time: Timestamp { Timestamp(milliseconds: milliseconds.withLock { $0 }) }
    }

    @Test(arguments: [253_402_300_800_000, -62_167_219_200_001, 1_764_000_000_000_000, .min, .max] as [Int64])
    func aTimeOutsideOfTheCalendarIsRefusedUntilTheClockIsRight(impossible: Int64) async throws {
        let clock = Clock()
        let store = try Store.temporary(
            options: StoreOptions(ticking: .manual, clock: { clock.time }))
        defer { store.close() }
        try await store.notify("ann", Content(title: "Before"))
        clock.milliseconds.withLock { $0 = impossible }
        do {
            try await store.notify("ann", Content(title: "Never"))
            Issue.record("an event was stamped with \(impossible)")
        } catch {
            #expect(error.code == "unsupported" && error.message.contains("0000 to 9999"), "\(error)")
        }
        clock.milliseconds.withLock { $0 = 1_764_000_000_000 }
        try await store.notify("ann", Content(title: "After"))
        let items = try await store.inbox(of: "ann").elements
        #expect(items.map(\.content.title) == ["After", "Before"])
        #expect(items[0].recordedAt == Timestamp(milliseconds: 1_764_000_000_000))
    }

    @Test func anAutomaticTickSurvivesAnImpossibleClock() async throws {
        let clock = Clock()
        clock.milliseconds.withLock { $0 = 1_764_000_000_000 }
        let store = try Store.temporary(options: StoreOptions(clock: { clock.time }))
        defer { store.close() }
        try await store.notify("ann", Content(title: "Short", expiresAt: clock.time + .seconds(5)))
        clock.milliseconds.withLock { $0 = .max }
        #expect(throws: TraylogError.self) { try store.blocking.tick() }
        clock.milliseconds.withLock { $0 = 1_764_000_006_000 }
        try await store.tick()
        #expect(try await store.tray(of: "ann").total == 0)
    }
}
