@_spi(Replication) import TraylogDomain
import TraylogJSON
@_spi(Operations) import TraylogQueries
@_spi(Operations) import TraylogStates

@_spi(JSON) extension JSONWriter {
    /// Writes the figures of a store.
    public mutating func write(_ statistics: StoreStatistics) {
        beginObject()
        member("head", statistics.head)
        member("floor", statistics.floor)
        member("events", statistics.events)
        member("users", statistics.users)
        member("topics", statistics.topics)
        member("bytes", statistics.bytes)
        member("freeBytes", statistics.freeBytes)
        member("mapSizeBytes", statistics.mapSizeBytes)
        member("lastEventAt", statistics.lastEventAt)
        member("dropped", statistics.dropped)
        member("erased", statistics.erased)
        member("history", each: statistics.history.forks) { $0.write($1) }
        member("overdue", statistics.overdue)
        member("overdueSince", statistics.overdueSince)
        if let writer = statistics.writer {
            name("writer")
            beginObject()
            member("pid", Int(writer.pid))
            member("host", writer.host)
            member("since", writer.since)
            endObject()
        }
        member("readers", each: statistics.readers) { $0.write($1) }
        member("unflushed", statistics.unflushed)
        member("damagedStates", statistics.damagedStates)
        member("refoldedStates", statistics.refoldedStates)
        member("cachedBytes", statistics.cachedBytes)
        member("tables", each: statistics.tables) { $0.write($1) }
        member("projections", each: statistics.projections) { $0.write($1) }
        endObject()
    }

    private mutating func write(_ fork: StoreHistory.Fork) {
        beginObject()
        member("mark", fork.mark)
        member("after", fork.after)
        endObject()
    }

    private mutating func write(_ reader: StoreStatistics.Reader) {
        beginObject()
        member("pid", Int(reader.pid))
        member("lag", reader.lag)
        endObject()
    }

    private mutating func write(_ projection: StoredProjection) {
        beginObject()
        member("name", projection.name)
        member("version", UInt64(projection.version))
        member("position", projection.position)
        member("bytes", projection.bytes)
        if let damage = projection.damage { member("damage", damage) }
        endObject()
    }

    private mutating func write(_ table: StoreStatistics.Table) {
        beginObject()
        member("name", table.name)
        member("entries", table.entries)
        member("bytes", table.bytes)
        endObject()
    }
}
