import Traylog

/// The JSON forms that only the program has; those of the domain are beside their types.
extension JSONWriter {
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

    mutating func write(_ report: RestoreReport) {
        beginObject()
        member("events", report.events)
        member("head", report.head)
        if !report.lost.isEmpty {
            member("lost", report.lost.reduce(UInt64(0)) { $0 + UInt64($1.count) })
        }
        endObject()
    }

    /// - Parameter treeHeads: those that the log was held against.
    mutating func write(
        _ report: VerificationReport, treeHeads: [KeptTreeHead] = [], key: NotePublicKey? = nil,
        since: KeptTreeHead? = nil
    ) {
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
