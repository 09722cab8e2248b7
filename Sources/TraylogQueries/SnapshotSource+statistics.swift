import TraylogDomain
import TraylogLMDB
import TraylogPages
import TraylogStates

extension SnapshotSource {
    package func statistics() throws -> StoreStatistics {
        let information = try environment.information()
        let readers = environment.readers().map { StoreStatistics.Reader(pid: $0.processID, lag: $0.lag) }
        var (statistics, states, end) = try readCounts { store, counts in
            var statistics = try store.statistics(counts, pageBytes: information.pageSizeBytes, environment)
            statistics.projections = try store.read { try tables.projections.all(in: $0) }
            return (statistics, store.states, UInt32(clamping: counts.streams + 1))
        }
        statistics.bytes = UInt64(information.fileBytes)
        statistics.freeBytes = UInt64(information.freePages * information.pageSizeBytes)
        statistics.mapSizeBytes = UInt64(information.mapSizeBytes)
        statistics.readers = readers
        // In parts, so that no read transaction lives long.
        statistics.damagedStates = try stride(from: UInt32(1), to: end, by: 10_000).reduce(0) { count, first in
            try count + environment.read { try states.countDamaged(first..<min(first + 10_000, end), in: $0) }
        }
        return statistics
    }
}

extension StoreSnapshot {
    /// What the snapshot says of the log, of streams and of tables.
    fileprivate func statistics(
        _ counts: StoreCounts, pageBytes: Int, _ environment: Environment
    ) throws -> StoreStatistics {
        var statistics = StoreStatistics()
        statistics.head = Seq(head)
        statistics.floor = record.floor.seq
        statistics.events = head - min(record.dropped, head)
        statistics.unflushed = counts.unflushed
        statistics.topics = counts.topics
        statistics.users = counts.streams - counts.topics - record.erased
        statistics.refoldedStates = counts.refolded
        try read { transaction in
            for name in Tables.allNames {
                let table = try transaction.statistics(environment.database(name))
                guard table.entries > 0 else { continue }
                statistics.tables.append(
                    StoreStatistics.Table(
                        name: name, entries: UInt64(table.entries), bytes: UInt64(table.pages * pageBytes)))
            }
        }
        return statistics
    }
}
