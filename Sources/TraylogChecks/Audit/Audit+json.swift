import TraylogAudit
import TraylogDomain
@_spi(Operations) @_spi(JSON) import TraylogEvidence
import TraylogJSON
@_spi(Operations) import TraylogQueries

@_spi(JSON) extension AuditReport: JSONWritable {
    /// Writes the first line of a report.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension JSONWriter {
    /// Writes the first line of a report.
    ///
    /// - Parameters:
    ///   - report: what is written, or asked about.
    ///   - isDisclosed: says that the entries have salt and payload, and that a last line closes the report
    ///     (``LineChain``).
    ///   - seen: the report's tree head with a checkpoint that others have seen; nil for none.
    public mutating func write(_ report: AuditReport, isDisclosed: Bool = false, seen: KeptTreeHead? = nil) {
        beginObject()
        member("user", report.user)
        member("from", report.from)
        member("through", report.through)
        member("events", report.steps.count)
        name("treeHead")
        write(seen ?? KeptTreeHead(head: report.treeHead, note: nil))
        name("before")
        write(report.before)
        name("tray")
        write(report.tray)
        if isDisclosed { member("disclosed", true) }
        endObject()
    }
}

@_spi(JSON) extension AuditReport: Decodable {
    /// Reads the first line of a report: without its steps, each of which has a line of its own (``AuditEntry``).
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(
            user: try fields["user"], from: try fields["from"], through: try fields["through"],
            treeHead: try fields["treeHead"], before: try fields["before"], tray: try fields["tray"], steps: [])
    }
}

@_spi(JSON) extension TrayDifference: JSONWritable {
    /// The JSON that `diff` prints, with the steps alone in place of their events.
    public func write(to writer: inout JSONWriter) { writer.write(self, nil) }
}

@_spi(JSON) extension JSONWriter {
    /// Writes what changed between two moments.
    ///
    /// - Parameters:
    ///   - difference: what is written.
    ///   - events: of the difference's steps; nil to write the steps without them.
    public mutating func write(_ difference: TrayDifference, _ events: [Event]?) {
        beginObject()
        member("user", difference.user)
        member("from", difference.before.asOf)
        member("to", difference.after.asOf)
        name("before")
        write(difference.before)
        name("after")
        write(difference.after)
        member("items", each: difference.items) { $0.write($1) }
        name(events == nil ? "steps" : "events")
        beginArray()
        if let events {
            for (step, event) in zip(difference.steps, events) { write(AuditEntry(step: step, event: event)) }
        } else {
            for step in difference.steps { write(step) }
        }
        endArray()
        endObject()
    }

    fileprivate mutating func write(_ step: AuditStep) {
        beginObject()
        member("seq", step.seq)
        name("before")
        write(step.before)
        name("after")
        write(step.after)
        if let tray = step.tray {
            name("tray")
            write(tray)
        }
        endObject()
    }

    fileprivate mutating func write(_ standing: ItemStanding) {
        beginObject()
        member("position", standing.position)
        member("seen", standing.isSeen)
        member("read", standing.isRead)
        member("archived", standing.isArchived)
        member("deleted", standing.isDeleted)
        member("gone", standing.isGone)
        member("snoozed", standing.isSnoozed)
        member("muted", standing.isMuted)
        member("silent", standing.isSilent)
        endObject()
    }
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
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("seq", item)
        writer.member("change", kind.rawValue)
        writer.member("title", content.title)
        if let before {
            writer.name("before")
            writer.write(before)
        }
        writer.name("after")
        writer.write(after)
        writer.member("edited", isEdited)
        writer.member("by", each: by) { $0.value($1) }
        writer.endObject()
    }
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
