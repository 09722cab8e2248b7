import TraylogDomain
import TraylogLog
@testable import Traylog
@testable import TraylogStates

/// Rows of the tables but the log: what decodes is packed again and decodes to the same, within the limits.
enum RowOracle {
    static func complaint(aboutRoot bytes: [UInt8]) -> String? {
        fixpoint(bytes, { (reader) throws(PackedError) in try StoredState(from: &reader) }) { stored in
            var row: [UInt8] = []
            stored.state.packRoot(of: stored.name, into: &row)
            return row
        } check: { stored in
            stored.state.appliedSeq <= Seq.highest ? nil : "a state beyond the highest seq"
        }
    }

    static func complaint(aboutItems bytes: [UInt8]) -> String? {
        fixpoint(bytes, { (reader) throws(PackedError) in try ItemPage(from: &reader) }) { page in
            var row: [UInt8] = []
            page.pack(into: &row)
            return row
        } check: { page in
            zip(page.entries, page.entries.dropFirst()).allSatisfy { $0.position < $1.position }
                ? nil : "items out of order"
        }
    }

    static func complaint(aboutKeys bytes: [UInt8]) -> String? {
        fixpoint(bytes, { (reader) throws(PackedError) in try KeyIndex.Page(from: &reader) }) { page in
            var row: [UInt8] = []
            page.pack(into: &row)
            return row
        } check: { page in
            zip(page.entries, page.entries.dropFirst()).allSatisfy { $0.key <= $1.key }
                ? nil : "keys out of order"
        }
    }

    static func complaint(aboutEvents bytes: [UInt8]) -> String? {
        fixpoint(bytes, { (reader) throws(PackedError) in try EventIndex.Page(from: &reader) }) { page in
            var row: [UInt8] = []
            page.pack(into: &row)
            return row
        } check: { page in
            guard let seqs = try? page.seqs() else { return nil }
            guard seqs.last ?? 0 <= Seq.highest else { return "a seq beyond the highest" }
            return zip(seqs, seqs.dropFirst()).allSatisfy { $0 < $1 } ? nil : "events out of order"
        }
    }

    static func complaint(aboutStoreRecord bytes: [UInt8]) -> String? {
        complaint(aboutRecord: bytes)
            ?? fixpoint(bytes, { (reader) throws(PackedError) in try StateProgress(from: &reader) }) {
                $0.packed()
            } check: { progress in
                let isWithin = progress.through <= Seq.highest && progress.nextStream > 0
                return isWithin && progress.nextStream <= .highest ? nil : "a number beyond its limit"
            }
    }

    private static func complaint(aboutRecord bytes: [UInt8]) -> String? {
        struct Decoded: Equatable {
            var record: StoreRecord
            var isFinished: Bool
        }
        return fixpoint(
            bytes,
            { (reader) throws(PackedError) in
                let (record, isFinished) = try StoreRecord.decode(from: &reader)
                return Decoded(record: record, isFinished: isFinished)
            }
        ) {
            $0.record.packed(isFinished: $0.isFinished)
        } check: { decoded in
            decoded.record.floor.seq.rawValue <= Seq.highest ? nil : "a number beyond its limit"
        }
    }

    static func complaint(aboutProjectionRecord bytes: [UInt8]) -> String? {
        fixpoint(bytes, { (reader) throws(PackedError) in try ProjectionRecord(from: &reader) }) { record in
            var row: [UInt8] = []
            record.pack(into: &row)
            return row
        } check: { record in
            (0...ProjectionRecord.maximumBytes).contains(record.byteCount) ? nil : "a value beyond its limit"
        }
    }

    static func complaint(aboutDueKey bytes: [UInt8]) -> String? {
        guard let entry = try? DueEntry(key: RawSpan(_elements: bytes.span)) else { return nil }
        return entry.key == bytes ? nil : "the key is written in another way"
    }

    /// Packing what was read gives bytes that read as the same value, and pack to the same bytes.
    private static func fixpoint<Value: Equatable>(
        _ bytes: [UInt8], _ read: (inout PackedReader) throws(PackedError) -> Value, _ write: (Value) -> [UInt8],
        check: (Value) -> String?
    ) -> String? {
        var reader = PackedReader(bytes)
        guard let value = try? read(&reader) else { return nil }
        if let complaint = check(value) { return complaint }
        let written = write(value)
        var second = PackedReader(written)
        guard let again = try? read(&second) else { return "what was packed does not unpack" }
        guard second.isAtEnd else { return "what was packed is longer than what is read" }
        guard again == value else { return "packing changes the value" }
        return write(again) == written ? nil : "the packed form is no fixpoint"
    }
}
