import TraylogDomain
import TraylogJSON
import TraylogQueries
@_spi(Operations) import TraylogRewrite
import TraylogWriter

@_spi(JSON) extension JSONWriter {
    /// Writes the extent of a backup.
    public mutating func write(_ report: BackupReport) {
        beginObject()
        member("bytes", report.bytes)
        member("head", report.head)
        endObject()
    }

    /// Writes the effect of a compaction.
    ///
    /// - Parameters:
    ///   - report: the effect.
    ///   - retracted: the number of items retracted before it, by category; left out if nobody asked for that.
    public mutating func write(
        _ report: CompactionReport, retracted: [(category: String, count: UInt64)] = []
    ) {
        beginObject()
        member("floor", report.floor)
        member("dropped", report.dropped)
        name("kinds")
        beginObject()
        for (kind, count) in report.kinds.sorted(by: { $0.key.code < $1.key.code }) {
            member(kind.rawValue, count)
        }
        endObject()
        member("archive", report.archive)
        member("bytesBefore", report.bytesBefore)
        member("bytesAfter", report.bytesAfter)
        member("freeBytesBefore", report.freeBytesBefore)
        member("freeBytesAfter", report.freeBytesAfter)
        member("tables", each: report.tables) { writer, table in
            writer.beginObject()
            writer.member("name", table.name)
            writer.member("bytesBefore", table.bytesBefore)
            writer.member("bytesAfter", table.bytesAfter)
            writer.endObject()
        }
        member("dryRun", report.isDryRun)
        if report.isGivenUp { member("notWorthIt", true) }
        if !retracted.isEmpty {
            name("retracted")
            beginObject()
            for (category, count) in retracted { member(category, count) }
            endObject()
        }
        endObject()
    }

    /// Writes the effect of an erasure.
    public mutating func write(_ report: ErasureReport) {
        beginObject()
        member("result", report.seq == nil ? "unchanged" : "appended")
        member("seq", report.seq)
        member("pseudonym", report.pseudonym)
        member("events", report.events)
        member("archives", each: report.archives) { $0.value($1) }
        if let replaced = report.replaced { member("replaced", each: replaced) { $0.value($1) } }
        endObject()
    }

    /// Writes the extent of a restored log: `lost` says how many events a gap stands for, `gaps` which.
    public mutating func write(_ report: RestoreReport) {
        beginObject()
        member("events", report.events)
        member("head", report.head)
        if !report.lost.isEmpty {
            member("lost", report.lost.reduce(UInt64(0)) { $0 + UInt64($1.count) })
            name("gaps")
            beginArray()
            for gap in report.lost {
                beginArray()
                value(gap.lowerBound)
                value(gap.upperBound)
                endArray()
            }
            endArray()
        }
        if let damage = report.damage { member("damage", damage) }
        if let branch = report.branch {
            member("branch", branch)
            member("otherBranches", each: report.otherBranches) { $0.value($1) }
        }
        endObject()
    }

    /// Writes the extent of an archive.
    public mutating func write(_ file: Archives.File) {
        beginObject()
        member("name", file.name)
        member("first", file.first)
        member("last", file.last)
        member("floor", file.through)
        member("events", file.events)
        member("bytes", file.bytes)
        endObject()
    }

    /// Writes the effect of a tick.
    public mutating func write(_ report: TickReport) {
        beginObject()
        if report.arrived > 0 { member("arrived", report.arrived) }
        member("woken", report.woken)
        member("expired", report.expired)
        member("unmuted", report.unmuted)
        member("reminded", report.reminded)
        member("head", report.head)
        endObject()
    }
}

// The writer has the forms; these conformances lend them to encoders.

@_spi(JSON) extension TickReport: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension BackupReport: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension CompactionReport: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension RestoreReport: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension ErasureReport: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension Archives.File: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}
