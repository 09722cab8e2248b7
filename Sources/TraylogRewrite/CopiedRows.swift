import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogPages

/// Rows on their way from one file to another, as they are: keys and values one after the other in one buffer.
struct CopiedRows {
    /// What one transaction takes.
    static let bytesAtOnce = 2 << 20

    private var bytes: [UInt8] = []
    private var rows: [(start: Int, value: Int, end: Int)] = []

    var isEmpty: Bool { rows.isEmpty }
    var isFull: Bool { bytes.count >= CopiedRows.bytesAtOnce }

    mutating func append(_ key: RawSpan, _ value: RawSpan) {
        bytes.growGeometrically(for: key.byteCount + value.byteCount)
        let start = bytes.count
        bytes.append(copying: key)
        let middle = bytes.count
        bytes.append(copying: value)
        rows.append((start, middle, bytes.count))
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        rows.removeAll(keepingCapacity: true)
    }

    /// Visits the rows in the order in which they came.
    func forEach(_ body: (_ key: RawSpan, _ value: RawSpan) throws -> Void) rethrows {
        let span = RawSpan(_elements: bytes.span)
        for row in rows { try body(span.extracting(row.start..<row.value), span.extracting(row.value..<row.end)) }
    }

    /// Writes the rows in a transaction of their own, and lets go of them.
    ///
    /// - Parameter isAtEnd: all keys are greater than any in the table, so that its pages are filled completely.
    mutating func write(to database: Database, of environment: Environment, isAtEnd: Bool) throws {
        guard !isEmpty else { return }
        try environment.write { try put(to: database, isAtEnd: isAtEnd, in: &$0) }
        removeAll()
    }

    func put(to database: Database, isAtEnd: Bool, in transaction: inout WriteTransaction) throws {
        try forEach { key, value in
            if isAtEnd {
                try transaction.append(database, key, value)
            } else {
                try transaction.put(database, key, value)
            }
        }
    }
}
