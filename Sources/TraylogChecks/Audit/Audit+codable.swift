import TraylogAudit
import TraylogDomain
import TraylogJSON
@_spi(Operations) import TraylogQueries

// Reports, read from their JSON forms.

@_spi(JSON) extension AuditReport: Decodable {
    /// Reads the first line of a report: without its steps, each of which has a line of its own (``AuditEntry``).
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(
            user: try fields["user"], from: try fields["from"], through: try fields["through"],
            treeHead: try fields["treeHead"], before: try fields["before"], tray: try fields["tray"], steps: [])
    }
}

@_spi(JSON) extension AuditEntry: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        let event: Event = try fields["event"]
        var step = AuditStep(seq: event.seq, before: try fields["before"], after: try fields["after"])
        step.tray = try fields[maybe: "tray"]
        self.init(
            step: step, event: event, proof: try fields[maybe: "proof"], disclosure: try fields[maybe: "disclosed"])
    }
}

@_spi(JSON) extension EventDisclosure: JSONWritable {
    /// `{"salt","payload"}`, both in Base64.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.disclosed(salt: salt, payload: payload)
        writer.endObject()
    }
}

@_spi(JSON) extension EventDisclosure: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(salt: try fields.word("salt", Base64.bytes), payload: try fields.word("payload", Base64.bytes))
    }
}

extension Base64 {
    fileprivate static func bytes(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        return decode(text.utf8Span.span, to: &bytes) ? bytes : nil
    }
}

@_spi(JSON) extension TrayDifference: JSONWritable {
    /// The JSON that `diff` prints, with the steps alone in place of their events.
    public func write(to writer: inout JSONWriter) { writer.write(self, nil) }
}

@_spi(JSON) extension TrayDifference: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(
            user: try fields["user"], before: try fields["before"], after: try fields["after"],
            items: try fields["items"], steps: try fields[maybe: "steps"] ?? [])
    }
}

@_spi(JSON) extension ItemChange: JSONWritable {
    /// Of the content the title.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension ItemChange: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(
            item: try fields["seq"], kind: try fields["change"], before: try fields[maybe: "before"],
            after: try fields["after"], isEdited: try fields["edited"],
            content: Content(title: try fields[maybe: "title"]), by: try fields["by"])
    }
}
