import Testing
import Traylog

// example: a seam of your own
/// The questions that the bell on a page asks.
private protocol TrayReading: Sendable {
    func tray(of user: String) async throws -> Tray
}

extension Store: TrayReading {
    fileprivate func tray(of user: String) async throws -> Tray {
        try await tray(of: user, asOf: nil)
    }
}

private struct FakeTrays: TrayReading {
    var trays: [String: Tray]

    func tray(of user: String) async throws -> Tray { trays[user] ?? Tray(user: user, asOf: .zero) }
}

private struct Bell {
    let trays: any TrayReading

    func label(for user: String) async throws -> String {
        let tray = try await trays.tray(of: user)
        return tray.isSeen ? "" : "\(tray.unseen)"
    }
}
// end

/// The Swift blocks of Docs/guides/testing.md.
@Suite struct TestingExamples {
    @Test func aStoreForATest() async throws {
        // example: a store for a test
        var options = StoreOptions()
        options.ticking = .manual
        options.clock = { Timestamp(milliseconds: 1_800_000_000_000) }
        let store = try Store.temporary(options: options)
        let soon = Timestamp(milliseconds: 1_800_000_060_000)
        try await store.notify("ann", Content(title: "Standup", expiresAt: soon))
        try await store.tick(now: soon)
        #expect(try await store.tray(of: "ann").total == 0)
        await store.close()
        // end
    }

    @Test func aFold() throws {
        // example: a projection without a store
        var counts = HourlyCounts()
        let content = Content(category: "build", title: "Build 17 failed")
        counts.apply(
            Event(seq: 1, recordedAt: Timestamp(milliseconds: 0), user: "ann", body: .notified(content)))
        #expect(counts.total(of: "build") == 1)
        // end
    }

    @Test func aFake() async throws {
        // example: a fake
        let full = Tray(user: "ann", asOf: 9, unseen: 3, unread: 3, total: 3)
        let bell = Bell(trays: FakeTrays(trays: ["ann": full]))
        #expect(try await bell.label(for: "ann") == "3")
        #expect(try await bell.label(for: "bob") == "")
        // end
        let store = try Store.temporary()
        try await store.notify("ann", title: "Hi")
        #expect(try await Bell(trays: store).label(for: "ann") == "1")
        await store.close()
    }
}
