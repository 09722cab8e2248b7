import TraylogDomain
import TraylogLMDB

/// Which commands the events carried that left the log, by seq, as far as they had a key: the same command again is a
/// duplicate for ever.
package struct FingerprintTable: Sendable {
    package let database: Database

    /// - Throws: ``PackedError``, ``LMDBError``.
    func fingerprint(of seq: UInt64, in transaction: borrowing ReadTransaction) throws -> UInt64? {
        let key = FingerprintTable.key(seq)
        let fingerprint = try transaction.get(database, RawSpan(_elements: key.span)) { value in
            var reader = PackedReader(try Checked.open(value, key: RawSpan(_elements: key.span)))
            return try reader.fixed64()
        }
        if fingerprint == nil {
            try Checked.confirmAbsence(of: RawSpan(_elements: key.span), in: database, transaction)
        }
        return fingerprint
    }

    package func put(_ fingerprint: UInt64, of seq: UInt64, to transaction: inout WriteTransaction) throws(LMDBError) {
        let key = FingerprintTable.key(seq)
        var value: [UInt8] = []
        value.appendFixed64(fingerprint)
        Checked.seal(&value, key: RawSpan(_elements: key.span))
        try transaction.put(database, RawSpan(_elements: key.span), RawSpan(_elements: value.span))
    }

    /// The seq, 8 bytes big-endian.
    static func key(_ seq: UInt64) -> [UInt8] {
        stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: seq >> $0) }
    }
}
