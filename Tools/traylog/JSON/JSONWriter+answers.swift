@_spi(JSON) import Traylog
@_spi(JSON) import TraylogJSON

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
            member("error", refusal.code.rawValue)
        }
        endObject()
    }

    /// Writes the last line of a list that goes on: `{"next"}`.
    mutating func write(next: String) {
        beginObject()
        member("next", next)
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
}
