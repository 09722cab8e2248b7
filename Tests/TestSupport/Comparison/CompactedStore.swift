@_spi(Operations) import Traylog
import TraylogDomain

/// A store that can be compacted beside the model.
protocol CompactedStore: AnswersQueries {
    /// - Parameter progress: called on another thread while this one waits.
    func compact(
        before floor: Seq, archive: String?, progress: @escaping () throws -> Void
    ) throws(TraylogError) -> CompactionReport
}

extension Store: CompactedStore {
    func compact(
        before floor: Seq, archive: String?, progress: @escaping () throws -> Void
    ) throws(TraylogError) -> CompactionReport {
        try compact(before: .seq(floor), archive: archive) { _, _ in try progress() }
    }
}

extension AcknowledgingStore: CompactedStore {}
