import TraylogArchive
@_spi(Replication) import TraylogDomain
import TraylogEvidence
import TraylogLMDB
import TraylogLog
import TraylogPlatform
import TraylogStates

/// The verification of the archives of a store's compactions, each by itself and beside the store.
struct ArchiveCheck {
    let environment: Environment
    let tables: LogTables

    /// Checks every archive in `directory`.
    ///
    /// - Parameter progress: events checked, and all.
    /// - Returns: the events in them.
    /// - Throws: ``ArchiveError`` when there is no such directory, or no archive in it; damage is a finding.
    func run(_ directory: String, _ findings: inout Findings, progress: (UInt64, UInt64) -> Void) throws -> UInt64 {
        let record = try environment.read { try StoreRecord.read(tables.meta, in: $0) }
        var readers: [ArchiveReader] = []
        for path in try ArchiveSet.paths(in: directory) {
            do {
                let reader = try ArchiveReader.open(path)
                try reader.check(record?.identity ?? .none, record?.history ?? StoreHistory())
                readers.append(reader)
            } catch {
                findings.add(error.message)
            }
        }
        let total = readers.reduce(0) { $0 + $1.summary.events }
        var done: UInt64 = 0
        for reader in readers {
            try check(reader, &findings) { progress(done + $0, total) }
            done += reader.summary.events
        }
        return total
    }

    private func check(
        _ reader: ArchiveReader, _ findings: inout Findings, progress: (UInt64) -> Void
    ) throws {
        try reader.verify(
            finding: { findings.add($0.message) }, progress: { done, _ in progress(done) },
            event: { seq, record, payload in
                if seq.isMultiple(of: 1_024) { try Cancellation.checkCurrent() }
                let row = LogRow(seq: seq, record: record, payload: payload)
                if let finding = try finding(row) {
                    findings.add(ArchiveError(.damaged, path: reader.path, seq: seq, finding).message)
                }
            })
    }

    /// The fault of an event whose bytes are those that were written; nil for none.
    private func finding(_ row: LogRow) throws -> String? {
        do {
            _ = try row.event()
        } catch let error as CodecError where error.code != .erased {
            return error.reason
        } catch is CodecError {
            // What is left of it was checked, and is all there is.
        }
        let logged = try environment.read { transaction in
            try tables.events.record(row.seq, in: transaction) { try RecordHeader.read($0, seq: row.seq) }
        }
        guard let logged, !logged.isErased else { return nil }
        let archived = try RecordHeader.read(RawSpan(_elements: row.record.span), seq: row.seq)
        return archived.crc == logged.crc ? nil : "it is another event than the store has"
    }
}
