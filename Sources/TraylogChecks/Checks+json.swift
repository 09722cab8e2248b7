import TraylogAudit
import TraylogDomain
@_spi(Operations) @_spi(JSON) import TraylogEvidence
import TraylogJSON

@_spi(JSON) extension ReplayReport: JSONWritable {
    /// Writes what a replay found.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("events", events)
        writer.member("users", users)
        // To the millisecond; a number's shortest text is JSON.
        writer.member("seconds", raw: "\((seconds * 1_000).rounded() / 1_000)")
        writer.member("eventsPerSecond", eventsPerSecond)
        writer.member("identical", identical)
        writer.member("difference", difference)
        writer.endObject()
    }
}

@_spi(JSON) extension ReplayReport: Decodable {
    /// Reads `{"events","users","seconds","identical","difference"}`: of the differences the first.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(events: try fields["events"], users: try fields["users"], seconds: try fields["seconds"])
        differences = try fields[maybe: "difference"].map { [$0] } ?? []
    }
}

@_spi(JSON) extension VerificationReport: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension VerificationReport: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(findings: try fields["findings"], events: try fields["events"], users: try fields["users"])
        dropped = try fields[maybe: "dropped"] ?? 0
        archivedEvents = try fields[maybe: "archivedEvents"]
        let heads: [Extended] = try fields[maybe: "treeHeads"] ?? []
        extends = try fields[maybe: "extends"] ?? heads.map(\.extended)
        firstDifference = try fields[maybe: "firstDifference"]
    }

    private struct Extended: Decodable { var extended: Bool }
}

@_spi(JSON) extension JSONWriter {
    /// Writes what a verification found.
    ///
    /// - Parameters:
    ///   - report: what was found.
    ///   - treeHeads: those that the log was held against, in the report's order.
    ///   - key: whose signatures were looked at; nil when none were.
    ///   - since: the tree head after which events are new.
    public mutating func write(
        _ report: VerificationReport, treeHeads: [KeptTreeHead] = [], key: NotePublicKey? = nil,
        since: KeptTreeHead? = nil
    ) {
        beginObject()
        member("ok", report.findings.isEmpty)
        member("events", report.events)
        member("users", report.users)
        if report.dropped > 0 { member("dropped", report.dropped) }
        if let archived = report.archivedEvents { member("archivedEvents", archived) }
        member("findings", each: report.findings) { $0.value($1) }
        if treeHeads.isEmpty, !report.extends.isEmpty {
            member("extends", each: report.extends) { $0.value($1) }
        }
        if !treeHeads.isEmpty {
            name("treeHeads")
            beginArray()
            for (tree, isExtended) in zip(treeHeads, report.extends) {
                beginObject()
                member("treeSize", tree.head.size)
                member("rootHash", tree.head.root.hex)
                member("extended", isExtended)
                if let key { member("signed", tree.objection(by: key) == nil) }
                endObject()
            }
            endArray()
        }
        if let since { member("newEvents", report.events > since.head.size ? report.events - since.head.size : 0) }
        if let first = report.firstDifference { member("firstDifference", first) }
        endObject()
    }
}
