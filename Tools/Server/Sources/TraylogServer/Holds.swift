@_spi(Operations) import Traylog

/// Who is on legal hold: read along the log once, and then among new events only.
package struct Holds: Sendable {
    private let store: Store
    private let found: Background<LegalHolds>

    init(_ store: Store) {
        self.store = store
        found = Background { known in try? await store.upkeep.legalHolds(since: known ?? LegalHolds()) }
    }

    /// Those who are held; nil while the log is still read for the first time.
    package func latest() async -> LegalHolds? {
        // The first time takes as long as the log is, and what is new no time.
        guard await found.latest(within: .milliseconds(100), onlyFirst: true) != nil else { return nil }
        return await found.latest(within: nil)
    }

    /// The event that put a person on hold; nil for somebody who is not held.
    package func hold(of user: String) async throws -> Event? {
        guard let known = await latest() else { return try await store.upkeep.hold(of: user) }
        return known.hold(of: user)
    }
}
