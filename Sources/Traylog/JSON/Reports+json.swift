import TraylogDomain
import TraylogJSON
import TraylogQueries
@_spi(Operations) import TraylogRewrite
import TraylogWriter

@_spi(JSON) extension CompactionReport: JSONWritable {
    /// The effect of a compaction.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension JSONWriter {
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
}

@_spi(JSON) extension CompactionReport: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(floor: try fields["floor"])
        dropped = try fields["dropped"]
        let counts: [String: UInt64] = try fields["kinds"]
        for (name, count) in counts { if let kind = EventKind(rawValue: name) { kinds[kind] = count } }
        archive = try fields[maybe: "archive"]
        (bytesBefore, bytesAfter) = (try fields["bytesBefore"], try fields["bytesAfter"])
        (freeBytesBefore, freeBytesAfter) = (try fields["freeBytesBefore"], try fields["freeBytesAfter"])
        tables = try fields["tables"]
        (isDryRun, isGivenUp) = (try fields["dryRun"], try fields[maybe: "notWorthIt"] ?? false)
    }
}

@_spi(JSON) extension RestoreReport: JSONWritable {
    /// Writes the extent of a restored log: how many events are missing for each reason, and in `gaps` which.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("events", events)
        writer.member("head", head)
        let gaps = [("lost", lost), ("erased", erased), ("compacted", compacted), ("orphaned", orphaned)].filter {
            !$0.1.isEmpty
        }
        for (reason, ranges) in gaps { writer.member(reason, ranges.reduce(UInt64(0)) { $0 + UInt64($1.count) }) }
        if !gaps.isEmpty {
            writer.name("gaps")
            writer.beginObject()
            for (reason, ranges) in gaps {
                writer.name(reason)
                writer.beginArray()
                for range in ranges {
                    writer.beginArray()
                    writer.value(range.lowerBound)
                    writer.value(range.upperBound)
                    writer.endArray()
                }
                writer.endArray()
            }
            writer.endObject()
        }
        if let damage { writer.member("damage", damage) }
        if let branch {
            writer.member("branch", branch)
            writer.member("otherBranches", each: otherBranches) { $0.value($1) }
        }
        writer.endObject()
    }
}

@_spi(JSON) extension RestoreReport: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        let gaps: [String: [ClosedRange<UInt64>]] = try fields[maybe: "gaps"] ?? [:]
        self.init(
            events: try fields["events"], head: try fields["head"], lost: gaps["lost"] ?? [],
            erased: gaps["erased"] ?? [], compacted: gaps["compacted"] ?? [], orphaned: gaps["orphaned"] ?? [],
            damage: try fields[maybe: "damage"], branch: try fields[maybe: "branch"],
            otherBranches: try fields[maybe: "otherBranches"] ?? [])
    }
}

@_spi(JSON) extension ProjectionOrigin: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        let (seq, version): (Seq?, UInt32?) = (try fields[maybe: "position"], try fields[maybe: "version"])
        let reason: String? = try fields[maybe: "reason"]
        self = try fields.word("origin") { origin in
            switch origin {
            case "resumed": seq.map { .resumed($0) }
            case "new": .new
            case "otherVersion": version.map { .otherVersion($0) }
            case "damaged": .damaged(reason ?? "")
            case "rebuilt": .rebuilt
            default: nil
            }
        }
    }
}

@_spi(JSON) extension ProjectionOrigin: JSONWritable {
    /// `{"origin"}`, with `position`, `version` or `reason` where it has one.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        switch self {
        case .resumed(let seq):
            writer.member("origin", "resumed")
            writer.member("position", seq)
        case .new: writer.member("origin", "new")
        case .otherVersion(let version):
            writer.member("origin", "otherVersion")
            writer.member("version", UInt64(version))
        case .damaged(let reason):
            writer.member("origin", "damaged")
            writer.member("reason", reason)
        case .rebuilt: writer.member("origin", "rebuilt")
        }
        writer.endObject()
    }
}

@_spi(JSON) extension BackupReport: JSONWritable {
    /// Writes the extent of a backup.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("bytes", bytes)
        writer.member("head", head)
        writer.endObject()
    }
}

@_spi(JSON) extension ErasureReport: JSONWritable {
    /// Writes the effect of an erasure.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("result", seq == nil ? "unchanged" : "appended")
        writer.member("seq", seq)
        writer.member("pseudonym", pseudonym)
        writer.member("events", events)
        writer.member("archives", each: archives) { $0.value($1) }
        if let replaced { writer.member("replaced", each: replaced) { $0.value($1) } }
        writer.endObject()
    }
}

@_spi(JSON) extension Archives.File: JSONWritable {
    /// Writes the extent of an archive.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("name", name)
        writer.member("first", first)
        writer.member("last", last)
        writer.member("floor", through)
        writer.member("events", events)
        writer.member("bytes", bytes)
        writer.endObject()
    }
}

@_spi(JSON) extension TickReport: JSONWritable {
    /// Writes the effect of a tick.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        if arrived > 0 { writer.member("arrived", arrived) }
        writer.member("woken", woken)
        writer.member("expired", expired)
        writer.member("unmuted", unmuted)
        writer.member("reminded", reminded)
        writer.member("head", head)
        writer.endObject()
    }
}
