import TraylogJSON
import TraylogQueries

@_spi(JSON) extension JSONWriter {
    /// Writes what a replay found.
    public mutating func write(_ report: ReplayReport) {
        beginObject()
        member("events", report.events)
        member("users", report.users)
        // To the millisecond; a number's shortest text is JSON.
        member("seconds", raw: "\((report.seconds * 1_000).rounded() / 1_000)")
        member("eventsPerSecond", report.eventsPerSecond)
        member("identical", report.identical)
        member("difference", report.difference)
        endObject()
    }
}

@_spi(JSON) extension ReplayReport: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension StoreStatistics: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}
