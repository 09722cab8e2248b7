import TraylogDomain
import TraylogLMDB
import TraylogLog

/// Rows of packed states that wait to be written: keys and sealed values one after the other in one buffer.
package struct RowBuffer: Sendable {
    private var bytes: [UInt8] = []
    /// Where each key starts, its value starts, and the value ends; a row without value is to be deleted.
    private var rows: [(start: Int, value: Int, end: Int)] = []

    package init() {}

    package var count: Int { rows.count }
    /// How many of them are to be written.
    package private(set) var written = 0
    /// The size of keys and values together.
    package var byteCount: Int { bytes.count }
    /// The size of the last value with its checksum.
    package var lastValueBytes: Int { rows.last { $0.end > $0.value }.map { $0.end - $0.value } ?? 0 }

    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        rows.removeAll(keepingCapacity: true)
        written = 0
    }

    /// Appends a row; `pack` appends the content of its value.
    package mutating func append(
        _ stream: StreamID, _ space: StateTable.Space, _ number: UInt64, version: UInt64? = nil,
        pack: (inout [UInt8]) -> Void
    ) {
        bytes.growGeometrically(for: 4_096)
        let start = bytes.count
        StateTable.append(stream, space, number, to: &bytes)
        if let version { StateTable.append(version, to: &bytes) }
        let value = bytes.count
        pack(&bytes)
        // Key and content lie side by side, so one pass seals both.
        Checked.seal(&bytes, from: start)
        rows.append((start, value, bytes.count))
        written += 1
    }

    /// The end of a part that begins with one of the rows: so many rows, or fewer where they are large.
    ///
    /// - Parameter rows: at least 1.
    package func endOfPart(from start: Int, rows count: Int, bytesPerRow: Int) -> Int {
        guard count < rows.count - start else { return rows.count }
        let bytes = count * bytesPerRow
        var end = start + 1
        while end < start + count, rows[end].end - rows[start].start <= bytes { end += 1 }
        return end
    }

    /// Deletes a version of a page, where it is stored.
    mutating func delete(_ stream: StreamID, _ space: StateTable.Space, _ number: UInt64, version: UInt64) {
        let start = bytes.count
        StateTable.append(stream, space, number, to: &bytes)
        StateTable.append(version, to: &bytes)
        rows.append((start, bytes.count, bytes.count))
    }

    /// Deletes a row by its key.
    mutating func delete(_ key: [UInt8]) {
        let start = bytes.count
        bytes += key
        rows.append((start, bytes.count, bytes.count))
    }

    /// Appends some rows of another buffer as they are.
    package mutating func append(_ other: RowBuffer, _ range: Range<Int>) {
        for row in other.rows[range] {
            let start = bytes.count
            bytes.append(copying: RawSpan(_elements: other.bytes.span).extracting(row.start..<row.end))
            rows.append((start, start + row.value - row.start, bytes.count))
            if row.end > row.value { written += 1 }
        }
    }

    /// Visits the keys of the rows from one on.
    func forEachKey(from start: Int, _ body: ([UInt8]) -> Void) {
        for row in rows[start...] { body(Array(bytes[row.start..<row.value])) }
    }

    /// Visits the rows that are to be written, in order.
    package func forEach(_ body: (_ key: RawSpan, _ value: RawSpan) throws -> Void) rethrows {
        let span = RawSpan(_elements: bytes.span)
        for row in rows where row.end > row.value {
            try body(span.extracting(row.start..<row.value), span.extracting(row.value..<row.end))
        }
    }

    /// Whether some of the rows are stored, to the byte; those that are to be deleted are passed over.
    package func areStored(
        _ range: Range<Int>, in database: Database, _ transaction: borrowing ReadTransaction
    ) throws -> Bool {
        let span = RawSpan(_elements: bytes.span)
        // The last one says most: it is the root.
        for index in range.reversed() where rows[index].end > rows[index].value {
            let row = rows[index]
            let value = span.extracting(row.value..<row.end)
            let isEqual = try transaction.get(database, span.extracting(row.start..<row.value)) {
                $0.hasSameBytes(as: value)
            }
            guard isEqual ?? false else { return false }
        }
        return true
    }

    /// Writes the rows in the order of their keys, in a transaction of their own, and lets go of them; what is to be deleted is
    /// not there.
    ///
    /// - Parameter last: the greatest key of the table so far. Rows behind it fill its pages completely.
    package mutating func drain(
        to database: Database, of environment: Environment, after last: inout [UInt8]
    ) throws {
        if let greatest = try writeInOrder(to: database, of: environment, after: last) { last = greatest }
        removeAll()
    }

    /// - Returns: the greatest key, where it is greater than before.
    private func writeInOrder(
        to database: Database, of environment: Environment, after last: [UInt8]
    ) throws -> [UInt8]? {
        let (span, before) = (RawSpan(_elements: bytes.span), RawSpan(_elements: last.span))
        let sorted = rows.filter { $0.end > $0.value }.sorted {
            span.extracting($0.start..<$0.value).precedes(span.extracting($1.start..<$1.value))
        }
        guard let first = sorted.first, let end = sorted.last else { return nil }
        let isAtEnd = before.precedes(span.extracting(first.start..<first.value))
        try environment.write { transaction in
            for row in sorted {
                let key = span.extracting(row.start..<row.value)
                let value = span.extracting(row.value..<row.end)
                if isAtEnd {
                    try transaction.append(database, key, value)
                } else {
                    try transaction.put(database, key, value)
                }
            }
        }
        let key = span.extracting(end.start..<end.value)
        guard before.precedes(key) else { return nil }
        var greatest: [UInt8] = []
        greatest.append(copying: key)
        return greatest
    }

    /// Carries out all rows, in order.
    package func write(to database: Database, in transaction: inout WriteTransaction) throws(LMDBError) {
        let span = RawSpan(_elements: bytes.span)
        for row in rows {
            let key = span.extracting(row.start..<row.value)
            if row.end > row.value {
                try transaction.put(database, key, span.extracting(row.value..<row.end))
            } else {
                _ = try transaction.delete(database, key)
            }
        }
    }
}

extension RawSpan {
    /// Whether a key comes before another one.
    fileprivate func precedes(_ other: RawSpan) -> Bool {
        for index in 0..<min(byteCount, other.byteCount) where byte(at: index) != other.byte(at: index) {
            return byte(at: index) < other.byte(at: index)
        }
        return byteCount < other.byteCount
    }
}
