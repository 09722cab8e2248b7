import TraylogDomain
import TraylogLMDB
import TraylogLog

/// Rows of packed states that wait to be written: keys and sealed values one after the other in one buffer.
struct RowBuffer: Sendable {
    private var bytes: [UInt8] = []
    /// Where each key starts and each value ends; the key is ``StateTable/keyBytes`` long.
    private var rows: [(start: Int, end: Int)] = []

    var count: Int { rows.count }
    var isEmpty: Bool { rows.isEmpty }
    /// What the last value takes, checksum included.
    var lastValueBytes: Int { rows.last.map { $0.end - $0.start - StateTable.keyBytes } ?? 0 }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        rows.removeAll(keepingCapacity: true)
    }

    /// Appends a row; `pack` appends the content of its value.
    mutating func append(
        _ stream: UInt32, _ space: StateTable.Space, _ number: UInt64, pack: (inout [UInt8]) -> Void
    ) {
        bytes.growGeometrically(for: 4_096)
        let start = bytes.count
        StateTable.append(stream, space, number, to: &bytes)
        pack(&bytes)
        // Key and content lie side by side, so one pass seals both.
        Checked.seal(&bytes, from: start)
        rows.append((start, bytes.count))
    }

    /// Writes all rows, in order.
    func write(to database: Database, in transaction: inout WriteTransaction) throws(LMDBError) {
        let span = RawSpan(_elements: bytes.span)
        for row in rows {
            let value = row.start + StateTable.keyBytes
            try transaction.put(database, span.extracting(row.start..<value), span.extracting(value..<row.end))
        }
    }
}
