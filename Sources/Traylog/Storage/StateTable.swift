import TraylogDomain
import TraylogLMDB
import TraylogLog

/// Packed states: for each stream a root, and the pages that do not fit into it, side by side.
struct StateTable: Sendable {
    let database: Database

    /// What a row of a stream holds; the numbers are stored.
    enum Space: UInt8, CaseIterable {
        case root = 0
        case items = 1
        case events = 2
        case keys = 3
        case collapseKeys = 4
    }

    /// `stream u32 BE | space u8 | key u64 BE`: rows of one stream lie together, pages in their order.
    static func key(_ stream: UInt32, _ space: Space, _ key: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(keyBytes)
        append(stream, space, key, to: &bytes)
        return bytes
    }

    static let keyBytes = 13

    static func append(_ stream: UInt32, _ space: Space, _ key: UInt64, to bytes: inout [UInt8]) {
        for shift in stride(from: UInt32(24), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: stream >> shift))
        }
        bytes.append(space.rawValue)
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: key >> shift))
        }
    }

    /// The stored state of a user's stream; nil when it has none.
    ///
    /// - Throws: ``PackedError`` `damaged`, also when it is somebody else's: the name led to a wrong number.
    func root(
        _ stream: UInt32, of user: String, in transaction: borrowing ReadTransaction
    ) throws -> StoredState? {
        let key = StateTable.key(stream, .root, 0)
        let bytes = try transaction.get(database, RawSpan(_elements: key.span)) { value in
            try Checked.open(value, key: RawSpan(_elements: key.span))
        }
        guard let bytes else { return nil }
        var reader = PackedReader(bytes)
        let stored = try StoredState(from: &reader)
        guard stored.user.hasSameBytes(as: user) else { throw PackedError.damaged("a name leads to another user") }
        return stored
    }

    /// The row of `space` with the greatest key at or below `position`.
    func floor(
        _ stream: UInt32, _ space: Space, at position: UInt64, in transaction: borrowing ReadTransaction
    ) throws -> [UInt8]? {
        let key = StateTable.key(stream, space, position)
        return try transaction.withCursor(database) { cursor in
            // The smallest key that is not less is the row itself or the one after it.
            var found = try cursor.seek(RawSpan(_elements: key.span))
            if found {
                let isExact = cursor.withEntry { stored, _ in
                    stored.starts(with: RawSpan(_elements: key.span), count: 13)
                }
                if !isExact { found = try cursor.previous() }
            } else {
                found = try cursor.last()
            }
            guard found else { return nil }
            return try cursor.withEntry { stored, value in
                guard stored.starts(with: RawSpan(_elements: key.span), count: 5) else { return nil }
                return try Checked.open(value, key: stored)
            }
        }
    }

    /// The row of `space` with the smallest key at or above `position`.
    func ceiling(
        _ stream: UInt32, _ space: Space, at position: UInt64, in transaction: borrowing ReadTransaction
    ) throws -> [UInt8]? {
        let key = StateTable.key(stream, space, position)
        return try transaction.withCursor(database) { cursor in
            guard try cursor.seek(RawSpan(_elements: key.span)) else { return nil }
            return try cursor.withEntry { stored, value in
                guard stored.starts(with: RawSpan(_elements: key.span), count: 5) else { return nil }
                return try Checked.open(value, key: stored)
            }
        }
    }
}

/// What a root row holds: whose state it is, and the state.
struct StoredState: Hashable, Sendable {
    var user: String
    var state: TrayState

    init(from reader: inout PackedReader) throws(PackedError) {
        let name = try reader.take(reader.count())
        guard let user = String(validating: name, as: UTF8.self) else { throw .damaged("a user's name") }
        self.user = user
        state = try TrayState(from: &reader)
        guard reader.isAtEnd else { throw .damaged("bytes after the state") }
    }
}

extension RawSpan {
    /// Whether the first `count` bytes are those of `other`.
    func starts(with other: RawSpan, count: Int) -> Bool {
        guard byteCount >= count, other.byteCount >= count else { return false }
        for index in 0..<count where byte(at: index) != other.byte(at: index) { return false }
        return true
    }
}
