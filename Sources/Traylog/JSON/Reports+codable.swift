import TraylogDomain
import TraylogJSON
@_spi(Operations) import TraylogRewrite

// Reports, read from their JSON forms.

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

@_spi(JSON) extension RestoreReport: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(
            events: try fields["events"], head: try fields["head"], lost: try fields[maybe: "gaps"] ?? [],
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
