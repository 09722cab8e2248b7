import TraylogAudit
import TraylogDomain
import TraylogLog
import TraylogLMDB
@_spi(Replication) import TraylogQueries
import TraylogStates
import TraylogTree

@_spi(Operations) extension MerkleAccumulator {
    /// Appends the leaf of an event, from its record.
    ///
    /// - Throws: ``TraylogError/failed(_:)``: `outOfSequence` for an event that is not the next one, `damaged` for wrong
    ///   bytes, `unsupported` for an erased event, whose content another store does not have.
    public mutating func append(_ record: LogRecord) throws(TraylogError) {
        guard record.seq.rawValue == size + 1 else {
            throw .failed(
                StoreFailure(
                    code: .outOfSequence, message: "event \(record.seq) was given where event \(size + 1) comes next"))
        }
        do {
            append(leafHash: try record.leafHash)
        } catch {
            throw TraylogError(error, in: "the records")
        }
    }
}

extension LogRecord {
    fileprivate var leafHash: MerkleHash {
        get throws {
            let bytes = RawSpan(_elements: bytes.span)
            let header = try RecordHeader.read(bytes, seq: seq.rawValue)
            guard !header.isErased else {
                throw StoreFailure(code: .unsupported, message: "the content of event \(seq) was erased")
            }
            let digest = EventLog.digest(ofPayload: RecordHeader.byteCount..<bytes.byteCount, in: bytes)
            return EventLeaf(seq.rawValue, header, digest: digest).hash
        }
    }
}
