import TraylogJSON
import TraylogQueries

extension JSONWriter {
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

extension ReplayReport: JSONForm {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

extension StoreStatistics: JSONForm {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}
