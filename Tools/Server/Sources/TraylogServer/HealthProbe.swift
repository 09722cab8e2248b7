@_spi(Operations) import Traylog

/// Asks how the store is, for readiness, figures and pages; all who ask at the same time share one answer, because anybody may ask.
actor HealthProbe {
    /// Statistics are kept twenty times as long as they took.
    private static let pause = 20

    private let store: Store
    private let limits: StoreHealth.Limits
    let damage = DamagedTrays()
    private typealias Found = Result<(statistics: StoreStatistics, archives: [ArchiveState]), any Error>
    private var known: (found: Found, until: ContinuousClock.Instant)?
    private var underWay: Task<Found, Never>?

    init(_ store: Store, limits: StoreHealth.Limits) { (self.store, self.limits) = (store, limits) }

    /// The health of the store now; its statistics may be a moment older.
    func latest() async -> StoreHealth {
        let found = await found()
        let (upkeep, free) = (store.upkeep, store.availableDiskBytes)
        switch found {
        case .success(let found):
            return StoreHealth(
                found.statistics, upkeep, diskFreeBytes: free, damagedStates: await damage.latest(store).count,
                archives: found.archives, limits: limits)
        case .failure(let error):
            return StoreHealth(unreadable: error, upkeep, diskFreeBytes: free, limits: limits)
        }
    }

    private func found() async -> Found {
        if let known, known.until > .now { return known.found }
        if let underWay { return await underWay.value }
        let task = Task { [store] () -> Found in
            do {
                let statistics = try await store.statistics(checkingStates: false)
                return .success((statistics, (try? await store.archiveStates()) ?? []))
            } catch { return .failure(error) }
        }
        underWay = task
        let start = ContinuousClock.now
        let found = await task.value
        (known, underWay) = ((found, .now + (.now - start) * Self.pause), nil)
        return found
    }
}

extension Service {
    /// How the store is: the one answer that readiness, figures and pages show.
    func health() async -> StoreHealth { await healthProbe.latest() }

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
