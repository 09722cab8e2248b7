import TraylogDomain
import TraylogLMDB
import TraylogLog

/// Copies rows from one environment to another with the same databases, in transactions of a bounded size.
///
/// Each chunk of rows is read from a snapshot of its own: what is written to the source meanwhile, before the row that
/// the copy has come to, is not in it.
struct TableCopy {
    /// Rows that one transaction looks at.
    private static let rowsAtOnce = 10_000

    private let source: Environment
    private let target: Environment
    private var rows = CopiedRows()

    init(from source: Environment, to target: Environment) {
        self.source = source
        self.target = target
    }

    /// Appends the rows of a table to those that the target has; all must have greater keys.
    ///
    /// - Parameters:
    ///   - table: both environments number their tables in the same way.
    ///   - isKept: whether a row is copied.
    mutating func copy(
        _ table: Database, where isKept: (_ key: RawSpan, _ value: RawSpan) throws -> Bool = { _, _ in true }
    ) throws {
        var last: [UInt8] = []
        var isAtEnd = false
        while !isAtEnd {
            isAtEnd = try read(table, after: &last, where: isKept)
            try rows.write(to: table, of: target, isAtEnd: true)
        }
    }

    /// Reads some more rows.
    ///
    /// - Returns: whether there are no more rows.
    private mutating func read(
        _ table: Database, after last: inout [UInt8], where isKept: (RawSpan, RawSpan) throws -> Bool
    ) throws -> Bool {
        try source.read { transaction in
            try transaction.withCursor(table) { cursor in
                guard try cursor.seek(RawSpan(_elements: last.span)) else { return true }
                var visited = 0
                repeat {
                    try cursor.withEntry { key, value in
                        // The row itself was copied.
                        guard !key.hasSameBytes(as: RawSpan(_elements: last.span)) else { return }
                        if try isKept(key, value) { rows.append(key, value) }
                        last.removeAll(keepingCapacity: true)
                        last.append(copying: key)
                    }
                    visited += 1
                    guard try cursor.next() else { return true }
                } while !rows.isFull && visited < Self.rowsAtOnce
                return false
            }
        }
    }
}

/// Rows on their way from one file to another, as they are: keys and values one after the other in one buffer.
struct CopiedRows {
    /// The bytes that one transaction takes.
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
