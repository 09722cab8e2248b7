import Testing
@_spi(Operations) import Traylog
@_spi(Operations) import TraylogEvidence

/// A story says what damage hides, and does not put it down to a compaction.
@Suite struct DamagedStoryTests {
    @Test func theEventThatHidesWhoMutedAnItemIsNamed() async throws {
        let store = try Store.temporary()
        try await store.perform([.mute(.all, of: "ann"), .notify("ann", title: "A")])
        let life = try await store.life(of: 2, of: "ann")
        func quiet(damaged: Seq?) -> ItemStory.Clause? {
            ItemStory(of: life.item, user: "ann", events: life.events, damaged: damaged).clauses.first {
                $0.topic == .quiet
            }
        }
        let named = try #require(quiet(damaged: 1))
        #expect(
            named.text()
                == "It did not ring: it was muted; nobody can tell by whom, because event 1 is damaged.")
        #expect(named.event == nil)
        #expect(quiet(damaged: nil)?.text() == "It did not ring: it was muted; the log no longer says by whom.")
        await store.close()
    }
}
