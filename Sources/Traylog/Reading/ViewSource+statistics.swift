import TraylogDomain
import TraylogLMDB

extension ViewSource {
    func statistics() throws -> StoreStatistics {
        let progress = try progress()
        let information = try environment.information()
        var statistics = StoreStatistics()
        statistics.head = try head()
        let record = try environment.read { try StoreRecord.read(tables.meta, in: $0) }
        statistics.floor = record?.floor.seq ?? .zero
        statistics.events = statistics.head.rawValue - min(record?.dropped ?? 0, statistics.head.rawValue)
        statistics.unflushed = progress.unflushed
        statistics.topics = progress.topics
        statistics.users = progress.streams - progress.topics - progress.erased
        statistics.bytes = UInt64(information.fileBytes)
        statistics.freeBytes = UInt64(information.freePages * information.pageSizeBytes)
        statistics.mapSizeBytes = UInt64(information.mapSizeBytes)
        statistics.readers = environment.readers().map { StoreStatistics.Reader(pid: $0.processID, lag: $0.lag) }
        try environment.read { transaction in
            for name in Tables.allNames {
                let table = try transaction.statistics(environment.database(name))
                guard table.entries > 0 else { continue }
                statistics.tables.append(
                    StoreStatistics.Table(
                        name: name, entries: UInt64(table.entries),
                        bytes: UInt64(table.pages * information.pageSizeBytes)))
            }
            statistics.projections = try tables.projections.all(in: transaction)
        }
        statistics.refoldedStates = progress.refolded
        statistics.damagedStates = try countDamagedStates(progress)
        return statistics
    }

    private func countDamagedStates(_ progress: StoreProgress) throws -> UInt64 {
        let states = tables.states(progress.generation)
        let end = UInt32(clamping: progress.streams + 1)
        // In parts, so that no read transaction lives long.
        return try stride(from: UInt32(1), to: end, by: 10_000).reduce(0) { count, first in
            try count + environment.read { try states.countDamaged(first..<min(first + 10_000, end), in: $0) }
        }
    }
}
