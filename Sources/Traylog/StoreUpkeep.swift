import TraylogDomain
import TraylogQueries

/// The upkeep of a store: backups, archives, compaction, holds, checks and figures.
///
/// ```swift
/// try await store.upkeep.backup(to: "/mnt/backup/monday")
/// try await store.upkeep.compact(before: .daysAgo(90))
/// ```
///
/// `store.upkeep` has all of it; `reader.upkeep` has what only reads.
public struct StoreUpkeep<Owner: TrayQueries>: Sendable {
    let store: Owner
}

extension TrayQueries {
    /// Backups, archives, checks and figures; of a ``Store`` also compaction and holds.
    public var upkeep: StoreUpkeep<Self> { StoreUpkeep(store: self) }
}

extension StoreUpkeep {
    /// Sizes, counts and readers at this moment.
    ///
    /// - Parameter checkingStates: also counts damaged states, which takes about a microsecond for each user; without it the
    ///   answer takes as long for a large store as for a small one.
    public func statistics(checkingStates: Bool = true) async throws(TraylogError) -> StoreStatistics {
        guard checkingStates else {
            return try await store.asking { store throws(TraylogError) in try store.statistics(checkingStates: false) }
        }
        return try await store.askingOfAll { store throws(TraylogError) in try store.statistics(checkingStates: true) }
    }
}
