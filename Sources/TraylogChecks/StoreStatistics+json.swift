@_spi(Replication) import TraylogDomain
import TraylogJSON
@_spi(Operations) import TraylogQueries
@_spi(Operations) import TraylogStates

@_spi(JSON) extension StoreStatistics: JSONWritable {
    /// Writes the figures of a store.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("head", head)
        writer.member("floor", floor)
        writer.member("events", events)
        writer.member("users", users)
        writer.member("topics", topics)
        writer.member("bytes", bytes)
        writer.member("freeBytes", freeBytes)
        writer.member("mapSizeBytes", mapSizeBytes)
        writer.member("lastEventAt", lastEventAt)
        writer.member("dropped", dropped)
        writer.member("erased", erased)
        writer.member("history", each: history.forks) { $0.write($1) }
        writer.member("overdue", overdue)
        writer.member("overdueSince", overdueSince)
        if let owner = self.writer {
            writer.name("writer")
            writer.beginObject()
            writer.member("pid", Int(owner.pid))
            writer.member("host", owner.host)
            writer.member("since", owner.since)
            writer.endObject()
        }
        writer.member("readers", each: readers) { $0.write($1) }
        writer.member("unflushed", unflushed)
        writer.member("damagedStates", damagedStates)
        writer.member("refoldedStates", refoldedStates)
        writer.member("cachedBytes", cachedBytes)
        writer.member("tables", each: tables) { $0.write($1) }
        writer.member("projections", each: projections) { $0.write($1) }
        writer.endObject()
    }
}

extension JSONWriter {
    fileprivate mutating func write(_ fork: StoreHistory.Fork) {
        beginObject()
        member("mark", fork.mark)
        member("after", fork.after)
        endObject()
    }

    fileprivate mutating func write(_ reader: StoreStatistics.Reader) {
        beginObject()
        member("pid", Int(reader.pid))
        member("lag", reader.lag)
        endObject()
    }

    fileprivate mutating func write(_ projection: StoredProjection) {
        beginObject()
        member("name", projection.name)
        member("version", UInt64(projection.version))
        member("position", projection.position)
        member("bytes", projection.bytes)
        if let damage = projection.damage { member("damage", damage) }
        endObject()
    }

    fileprivate mutating func write(_ table: StoreStatistics.Table) {
        beginObject()
        member("name", table.name)
        member("entries", table.entries)
        member("bytes", table.bytes)
        endObject()
    }
}
