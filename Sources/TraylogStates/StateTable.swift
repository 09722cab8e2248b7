import TraylogDomain
import TraylogLMDB
import TraylogLog

/// Packed states: for each stream a root, and the pages that do not fit into it, side by side.
package struct StateTable: Sendable {
    package let database: Database

    /// The kinds of rows of a stream; the numbers are stored.
    package struct Space: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let root = Space(rawValue: 0)
        /// Roots as they were after certain events, by the event.
        package static let landmark = Space(rawValue: 0x40)

        /// Pages, by page and by the event that changed it; empty where it ended with that.
        package static func page(_ space: PageSpace) -> Space { Space(rawValue: space.rawValue) }
    }

    /// `stream u32 BE | space u8 | key u64 BE`, and of a page `| changedBy u64 BE`: rows of one stream lie together, pages
    /// in their order.
    package static func key(_ stream: StreamID, _ space: Space, _ key: UInt64, version: UInt64? = nil) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(pageKeyBytes)
        append(stream, space, key, to: &bytes)
        if let version { append(version, to: &bytes) }
        return bytes
    }

    package static let pageKeyBytes = 21

    static func append(_ stream: StreamID, _ space: Space, _ key: UInt64, to bytes: inout [UInt8]) {
        for shift in stride(from: UInt32(24), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: stream.rawValue >> shift))
        }
        bytes.append(space.rawValue)
        append(key, to: &bytes)
    }

    static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    /// The stored state of a stream; nil when it has none.
    ///
    /// - Parameter isNew: whether nothing can be stored of it yet, so that nobody has to wonder when it is not there.
    /// - Throws: ``PackedError`` `damaged`, also when it is somebody else's: the name led to a wrong number.
    package func root(
        _ stream: StreamID, of name: StreamName, isNew: Bool = false, in transaction: borrowing ReadTransaction
    ) throws -> StoredState? {
        guard let stored = try root(stream, isNew: isNew, in: transaction) else { return nil }
        guard stored.name.hasSameBytes(as: name) else { throw PackedError.damaged("a name leads to another stream") }
        return stored
    }

    /// The same, whosever it is.
    package func root(
        _ stream: StreamID, isNew: Bool = false, in transaction: borrowing ReadTransaction
    ) throws -> StoredState? {
        let key = StateTable.key(stream, .root, 0)
        let bytes = try transaction.get(database, RawSpan(_elements: key.span)) { value in
            try Checked.open(value, key: RawSpan(_elements: key.span))
        }
        guard let bytes else {
            if !isNew { try Checked.confirmAbsence(of: RawSpan(_elements: key.span), in: database, transaction) }
            return nil
        }
        var reader = PackedReader(bytes)
        return try StoredState(from: &reader)
    }

    /// How many of these streams have a stored state whose checksum does not match.
    ///
    /// - Complexity: about a microsecond for each.
    package func countDamaged(_ streams: Range<StreamID>, in transaction: borrowing ReadTransaction) throws -> UInt64 {
        var count: UInt64 = 0
        for stream in streams {
            let key = StateTable.key(stream, .root, 0)
            do {
                _ = try transaction.get(database, RawSpan(_elements: key.span)) { value in
                    try Checked.check(value, key: RawSpan(_elements: key.span))
                }
            } catch is PackedError {
                count += 1
            }
        }
        return count
    }

    /// Checks the checksums of some rows.
    ///
    /// - Parameter last: the key of the last row that was checked.
    /// - Returns: whether there may be more.
    package func check(
        rows count: Int, after last: inout [UInt8], in transaction: borrowing ReadTransaction
    ) throws -> Bool {
        try transaction.withCursor(database) { cursor in
            var (left, found) = (count, try cursor.seek(RawSpan(_elements: last.span)))
            while found, left > 0 {
                try cursor.withEntry { key, value in
                    try Checked.check(value, key: key)
                    last.removeAll(keepingCapacity: true)
                    last.append(copying: key)
                }
                left -= 1
                found = try cursor.next()
            }
            return found
        }
    }

    /// The newest landmark at or before `seq`, as it was packed.
    func landmark(
        _ stream: StreamID, atOrBefore seq: UInt64, in transaction: borrowing ReadTransaction
    ) throws -> [UInt8]? {
        let key = StateTable.key(stream, .landmark, seq)
        return try transaction.withCursor(database) { cursor in
            guard try cursor.moveToFloor(of: key) else { return nil }
            return try cursor.withEntry { stored, value in
                let content = try Checked.open(value, key: stored)
                return stored.starts(with: RawSpan(_elements: key.span), count: 5) ? content : nil
            }
        }
    }
}

/// The content of a root row: whose state it is, and the state.
package struct StoredState: Hashable, Sendable {
    /// The first byte of a topic's root.
    static let topicKind: UInt8 = 1

    package var name: StreamName
    package var state: TrayState

    init(from reader: inout PackedReader) throws(PackedError) {
        let kind = try reader.byte()
        guard let name = String(validating: try reader.take(reader.count()), as: UTF8.self), kind <= 2 else {
            throw .damaged("the name of a stream")
        }
        if kind == 2 {
            guard let stream = Pseudonym.stream(of: name) else { throw .damaged("the name of a stream") }
            self.name = .erased(stream)
        } else {
            self.name = kind == Self.topicKind ? .topic(name) : .user(name)
        }
        state = try TrayState(from: &reader)
        guard reader.isAtEnd else { throw .damaged("bytes after the state") }
    }
}

extension RawSpan {
    /// Whether the first `count` bytes equal those of `other`.
    package func starts(with other: RawSpan, count: Int) -> Bool {
        guard byteCount >= count, other.byteCount >= count else { return false }
        for index in 0..<count where byte(at: index) != other.byte(at: index) { return false }
        return true
    }
}
