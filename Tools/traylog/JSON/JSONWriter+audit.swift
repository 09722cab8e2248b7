import Traylog

/// The JSON forms of reports.
extension JSONWriter {
    /// The first line of a report.
    mutating func write(_ report: AuditReport) {
        beginObject()
        member("user", report.user)
        member("from", report.from)
        member("through", report.through)
        member("events", report.steps.count)
        name("treeHead")
        write(report.treeHead)
        name("before")
        write(report.before)
        name("tray")
        write(report.tray)
        endObject()
    }

    /// A further line.
    mutating func write(_ entry: AuditEntry) {
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
        endObject()
    }

    mutating func write(_ counts: TrayCounts) {
        beginObject()
        member("unseen", counts.unseen)
        member("unread", counts.unread)
        member("total", counts.total)
        endObject()
    }
}
