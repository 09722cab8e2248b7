@_spi(Operations) import Traylog

/// Asks how the store is, for readiness, figures and pages; all who ask at the same time share one answer, because anybody may ask.
package struct HealthProbe: Sendable {
    private typealias Found = Result<(statistics: StoreStatistics, archives: [ArchiveState]?), any Error>

    private let store: Store
    private let limits: StoreHealth.Limits
    private let found: Background<Found>
    /// How many stored trays are damaged, and when they were counted, which reads every one.
    private let damage: Background<(count: UInt64?, time: Timestamp)>

    init(_ store: Store, limits: StoreHealth.Limits) {
        (self.store, self.limits) = (store, limits)
        found = Background(keptFor: { $0 * 20 }) { _ in
            do {
                let statistics = try await store.upkeep.statistics(checkingStates: false)
                return .success((statistics, try? await store.archiveStates()))
            } catch {
                return .failure(error)
            }
        }
        damage = Background(keptFor: { max(.seconds(30), $0 * 100) }) { _ in
            (try? await store.upkeep.statistics()).map { ($0.damagedStates, .now) }
        }
    }

    /// The health of the store now; its statistics may be a moment older.
    func latest() async -> StoreHealth {
        let found = await found.latest(within: nil)
        let (upkeep, free) = (store.upkeepRecord, store.availableDiskBytes)
        switch found {
        case .success(let found):
            return StoreHealth(
                found.statistics, upkeep, diskFreeBytes: free, damagedStates: await damagedTrays()?.count,
                archives: found.archives, limits: limits)
        case .failure(let error):
            return StoreHealth(unreadable: error, upkeep, diskFreeBytes: free, limits: limits)
        case nil:
            return StoreHealth(unreadable: CancellationError(), upkeep, diskFreeBytes: free, limits: limits)
        }
    }

    /// The last count of damaged trays; nil before the first, which is waited for a moment: enough for a small store.
    package func damagedTrays() async -> (count: UInt64?, time: Timestamp)? {
        await damage.latest(within: .milliseconds(100), onlyFirst: true)
    }
}

extension Service {
    /// How the store is: the one answer that readiness, figures and pages show.
    package func health() async -> StoreHealth { await healthProbe.latest() }

    /// What readiness says about the store: the names of what is wrong, and of what may wait; nil where there is none.
    ///
    /// Anybody may ask, so it has no words: they may name people. It does not take the store out of service.
    func healthMembers() async -> [(name: String, value: JSONValue?)] {
        let health = await health()
        func names(_ findings: [StoreHealth.Finding]) -> JSONValue? {
            var names: [String] = []
            for finding in findings where !names.contains(finding.problem.rawValue) {
                names.append(finding.problem.rawValue)
            }
            return names.isEmpty ? nil : .array(names.map { .string($0) })
        }
        return [
            ("problems", names(health.problems)), ("warnings", names(health.warnings)), ("failedChecks", failedChecks),
        ]
    }
}
