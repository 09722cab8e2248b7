import TraylogAudit
import TraylogDomain
import TraylogJSON

@_spi(JSON) extension AuditEntry: JSONWritable {
    /// Writes a further line: an event of the report, its effect, and its proof.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name("event")
        writer.write(event)
        writer.name("before")
        writer.write(step.before)
        writer.name("after")
        writer.write(step.after)
        if let tray = step.tray {
            writer.name("tray")
            writer.write(tray)
        }
        if let proof {
            writer.name("proof")
            writer.write(proof)
        }
        if let disclosure {
            writer.name("disclosed")
            writer.beginObject()
            writer.disclosed(salt: disclosure.salt, payload: disclosure.payload)
            writer.endObject()
        }
        writer.endObject()
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

@_spi(JSON) extension TrayCounts: JSONWritable {
    /// Writes `{"unseen","unread","total"}`.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("unseen", unseen)
        writer.member("unread", unread)
        writer.member("total", total)
        writer.endObject()
    }
}
