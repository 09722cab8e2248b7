import TraylogAudit
import TraylogDomain
import TraylogJSON
@_spi(Operations) import TraylogQueries

/// The JSON forms of reports.
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

    /// Writes a further line: an event of the report, its effect, and its proof.
    public mutating func write(_ entry: AuditEntry) {
        beginObject()
        name("event")
        write(entry.event)
        name("before")
        write(entry.step.before)
        name("after")
        write(entry.step.after)
        if let tray = entry.step.tray {
            name("tray")
            write(tray)
        }
        if let proof = entry.proof {
            name("proof")
            write(proof)
        }
        if let disclosure = entry.disclosure {
            name("disclosed")
            beginObject()
            disclosed(salt: disclosure.salt, payload: disclosure.payload)
            endObject()
        }
        endObject()
    }

    /// Writes `{"unseen","unread","total"}`.
    public mutating func write(_ counts: TrayCounts) {
        beginObject()
        member("unseen", counts.unseen)
        member("unread", counts.unread)
        member("total", counts.total)
        endObject()
    }
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

    mutating func write(_ step: AuditStep) {
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

    mutating func write(_ change: ItemChange) {
        beginObject()
        member("seq", change.item)
        member("change", change.kind.rawValue)
        member("title", change.content.title)
        if let before = change.before {
            name("before")
            write(before)
        }
        name("after")
        write(change.after)
        member("edited", change.isEdited)
        member("by", each: change.by) { $0.value($1) }
        endObject()
    }

    private mutating func write(_ standing: ItemStanding) {
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

@_spi(JSON) extension AuditReport: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension AuditEntry: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension TrayCounts: JSONWritable {
    /// Writes its JSON form.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}
