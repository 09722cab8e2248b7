import Traylog

/// The JSON forms that only the program has; those of the domain are beside their types.
extension JSONWriter {
    /// Writes the outcome of a single command: `{"result","seq"}`.
    mutating func write(_ receipt: Receipt) {
        beginObject()
        members(receipt)
        endObject()
    }

    /// Writes the outcome of one line of an `append`: `{"line","result","seq","error"}`.
    mutating func write(_ outcome: Batch.Outcome) {
        beginObject()
        member("line", outcome.line)
        switch outcome.result {
        case .success(let receipt): members(receipt)
        case .failure(let refusal):
            member("result", "refused")
            member("error", refusal.name)
        }
        endObject()
    }

    mutating func write(_ summary: AppendSummary, head: Seq) {
        beginObject()
        member("read", summary.read)
        member("appended", summary.appended)
        member("unchanged", summary.unchanged)
        member("duplicates", summary.duplicates)
        member("refused", summary.refused)
        member("head", head)
        endObject()
    }

    mutating func write(_ report: BackupReport) {
        beginObject()
        member("bytes", report.bytes)
        member("head", report.head)
        endObject()
    }

    mutating func write(_ report: CompactionReport, isDryRun: Bool) {
        beginObject()
        member("floor", report.floor)
        member("dropped", report.dropped)
        name("kinds")
        beginObject()
        for (kind, count) in report.kinds.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            member(kind.name, count)
        }
        endObject()
        member("archive", report.archive)
        member("bytesBefore", report.bytesBefore)
        member("bytesAfter", report.bytesAfter)
        member("dryRun", isDryRun)
        endObject()
    }

    mutating func write(_ report: ErasureReport) {
        beginObject()
        member("result", report.seq == nil ? "unchanged" : "appended")
        member("seq", report.seq)
        member("pseudonym", report.pseudonym)
        member("events", report.events)
        name("archives")
        beginArray()
        for archive in report.archives { value(archive) }
        endArray()
        endObject()
    }

    mutating func write(_ report: RestoreReport) {
        beginObject()
        member("events", report.events)
        member("head", report.head)
        endObject()
    }

    mutating func write(_ report: TickReport) {
        beginObject()
        member("woken", report.woken)
        member("expired", report.expired)
        member("head", report.head)
        endObject()
    }

    mutating func write(_ report: ReplayReport) {
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

    /// - Parameter treeHeads: those that the log was held against.
    mutating func write(_ report: VerificationReport, treeHeads: [KeptTreeHead] = []) {
        beginObject()
        member("ok", report.findings.isEmpty)
        member("events", report.events)
        member("users", report.users)
        if let archived = report.archivedEvents { member("archivedEvents", archived) }
        name("findings")
        beginArray()
        for finding in report.findings { value(finding) }
        endArray()
        if !treeHeads.isEmpty {
            name("treeHeads")
            beginArray()
            for (tree, isExtended) in zip(treeHeads, report.extends) {
                beginObject()
                member("treeSize", tree.head.size)
                member("rootHash", tree.head.root.hex)
                member("extended", isExtended)
                endObject()
            }
            endArray()
        }
        if let first = report.firstDifference { member("firstDifference", first) }
        endObject()
    }

    private mutating func members(_ receipt: Receipt) {
        member("result", receipt.name)
        member("seq", receipt.seq)
    }
}

extension Receipt {
    fileprivate var name: String {
        switch self {
        case .appended: "appended"
        case .unchanged: "unchanged"
        case .duplicate: "duplicate"
        }
    }
}
