import Traylog
import TraylogArchive
import TraylogLMDB
import TraylogLog

/// An archive that no compaction made, of any events of a store, which may stay in the log or leave it.
package enum HandMadeArchive {
    /// Writes an archive of the events with these seqs, which must be ascending; the store must be closed.
    ///
    /// - Parameters:
    ///   - identity: the store's own when nil.
    ///   - drops: whether the events leave the log, which then has gaps that only a reader with archives accepts.
    /// - Returns: the name of the file.
    @discardableResult
    package static func write(
        _ seqs: [UInt64], of store: String, to directory: String, identity: StoreIdentity? = nil, drops: Bool = false
    ) throws -> String {
        let identity = try identity ?? self.identity(of: store)
        let environment = try Environment.open(
            directory: store, access: .readWrite, databases: EventLog.tableNames)
        defer { environment.close() }
        let log = EventLog(environment)
        let header = ArchiveHeader(store: identity, through: (seqs.last ?? 0) + 1)
        let writer = try ArchiveWriter(directory: directory, header: header)
        for seq in seqs {
            guard let row = try environment.read({ try log.row(seq, in: $0) }) else { continue }
            try writer.append(
                seq: seq, record: RawSpan(_elements: row.record.span), payload: RawSpan(_elements: row.payload.span))
            if drops { try drop(row, from: environment) }
        }
        return try writer.finish().name
    }

    package static func identity(of store: String) throws -> StoreIdentity {
        let reader = try StoreReader.open(store)
        defer { reader.close() }
        return try reader.identity()
    }

    private static func drop(_ row: LogRow, from environment: Environment) throws {
        try environment.write { transaction in
            _ = try transaction.delete(environment.database("log"), row.seq)
            for index in 0..<RecordCodec.chunkCount(of: row.payload.count) {
                var key: [UInt8] = []
                RecordCodec.appendChunkKey(seq: row.seq, index: index, to: &key)
                _ = try transaction.delete(environment.database("chunks"), RawSpan(_elements: key.span))
            }
        }
    }
}
