import TraylogPages

/// Copies rows from one environment to another with the same databases, in transactions of a bounded size.
///
/// Each chunk of rows is read from a snapshot of its own: what is written to the source meanwhile, before the row that
/// the copy has come to, is not in it.
package struct TableCopy {
    private let source: Environment
    private let target: Environment
    private var chunk = RowChunk()

    package init(from source: Environment, to target: Environment) {
        self.source = source
        self.target = target
    }

    /// Appends the rows of a table to those that the target has; all must have greater keys.
    ///
    /// - Parameters:
    ///   - table: both environments number their tables in the same way.
    ///   - key: the greatest one that is left out; empty for none.
    ///   - isKept: whether a row is copied.
    /// - Returns: how many rows were copied.
    @discardableResult
    package mutating func copy(
        _ table: Database, after key: [UInt8] = [],
        where isKept: (_ key: RawSpan, _ value: RawSpan) throws -> Bool = { _, _ in true }
    ) throws -> Int {
        var last = key
        var rows = 0
        var isAtEnd = false
        while !isAtEnd {
            chunk.removeAll()
            isAtEnd = try read(table, after: &last, where: isKept)
            try write(to: table)
            rows += chunk.rows
        }
        return rows
    }

    /// Fills the chunk.
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
                        guard !key.hasBytes(of: last) else { return }
                        if try isKept(key, value) { chunk.append(key, value) }
                        last.removeAll(keepingCapacity: true)
                        last.append(bytesOf: key)
                    }
                    visited += 1
                    guard try cursor.next() else { return true }
                } while !chunk.isFull && visited < RowChunk.maximumRows
                return false
            }
        }
    }

    private func write(to table: Database) throws {
        guard chunk.rows > 0 else { return }
        try target.write { transaction in
            try chunk.forEach { key, value in try transaction.append(table, key, value) }
        }
    }
}

/// Rows between two transactions.
private struct RowChunk {
    /// Keys and values, one after the other.
    private var bytes: [UInt8] = []
    /// The end of each key and each value.
    private var ends: [Int] = []

    static let maximumRows = 10_000
    private static let maximumBytes = 4 << 20

    var rows: Int { ends.count / 2 }
    var byteCount: Int { bytes.count }
    var isFull: Bool { byteCount >= Self.maximumBytes }

    mutating func append(_ key: RawSpan, _ value: RawSpan) {
        bytes.append(bytesOf: key)
        ends.append(bytes.count)
        bytes.append(bytesOf: value)
        ends.append(bytes.count)
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }

    func forEach(_ body: (RawSpan, RawSpan) throws -> Void) throws {
        let all = RawSpan(_elements: bytes.span)
        var start = 0
        for row in 0..<rows {
            let (middle, end) = (ends[2 * row], ends[2 * row + 1])
            try body(all.extracting(start..<middle), all.extracting(middle..<end))
            start = end
        }
    }
}

extension RawSpan {
    fileprivate func hasBytes(of other: [UInt8]) -> Bool {
        // Sound: the bytes are read during the call only.
        unsafe withUnsafeBytes { unsafe $0.elementsEqual(other) }
    }
}

extension [UInt8] {
    fileprivate mutating func append(bytesOf span: RawSpan) {
        // Sound: as above.
        unsafe span.withUnsafeBytes { unsafe append(contentsOf: $0) }
    }
}
