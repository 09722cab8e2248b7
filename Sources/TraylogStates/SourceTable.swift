import TraylogDomain
import TraylogLMDB
import TraylogLog

/// The row beside the store's record that says how far the store has come in the log that it follows.
package struct SourceTable: Sendable {
    let database: Database

    private static let key: [UInt8] = Array("source".utf8)

    /// - Throws: ``PackedError``, ``LMDBError``.
    package func read(
        in transaction: borrowing ReadTransaction
    ) throws -> (source: String, position: UInt64)? {
        try transaction.get(database, RawSpan(_elements: SourceTable.key.span)) { value in
            try SourceTable.decode(try Checked.open(value, key: RawSpan(_elements: SourceTable.key.span)))
        }
    }

    static func decode(_ bytes: [UInt8]) throws(PackedError) -> (source: String, position: UInt64) {
        var reader = PackedReader(bytes)
        let position = try reader.varint()
        guard let source = String(validating: try reader.take(reader.count()), as: UTF8.self) else {
            throw .damaged("the name of the log that the store follows")
        }
        return (source, position)
    }

    package func write(
        source: String, position: UInt64, to transaction: inout WriteTransaction
    ) throws(LMDBError) {
        var value: [UInt8] = []
        value.appendVarint(position)
        value.appendVarint(UInt64(source.utf8.count))
        value.append(contentsOf: source.utf8)
        Checked.seal(&value, key: RawSpan(_elements: SourceTable.key.span))
        try transaction.put(
            database, RawSpan(_elements: SourceTable.key.span), RawSpan(_elements: value.span))
    }
}
