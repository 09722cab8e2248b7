import Traylog
import TraylogDomain

/// A store that can be compacted beside the model.
protocol CompactedStore: AnswersQueries {
    func compact(before floor: Seq, archive: String?) throws(TraylogError) -> CompactionReport
}

extension Store: CompactedStore {
    func compact(before floor: Seq, archive: String?) throws(TraylogError) -> CompactionReport {
        try compact(before: .seq(floor), archive: archive)
    }
}

extension AcknowledgingStore: CompactedStore {}
