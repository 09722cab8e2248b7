import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogPlatform

/// From users and topics to the numbers of their streams: users by name, in byte order; topics by identity, which is
/// how states name them.
package struct NameTable: Sendable {
    package let database: Database

    private static let userTag = UInt8(ascii: "u")
    private static let topicTag = UInt8(ascii: "t")

    package static func key(user: String) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(1 + user.utf8.count)
        key.append(userTag)
        key.append(contentsOf: user.utf8)
        return key
    }

    package static func key(topic identity: Identity) -> [UInt8] {
        [topicTag]
            + stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: identity.rawValue >> $0) }
    }

    package func stream(of user: String, in transaction: borrowing ReadTransaction) throws -> StreamID? {
        try stream(NameTable.key(user: user), in: transaction)
    }

    package func stream(ofTopic identity: Identity, in transaction: borrowing ReadTransaction) throws -> StreamID? {
        try stream(NameTable.key(topic: identity), in: transaction)
    }

    private func stream(_ key: [UInt8], in transaction: borrowing ReadTransaction) throws -> StreamID? {
        let span = RawSpan(_elements: key.span)
        if let stream = try transaction.get(database, span, { try NameTable.number($0, key: span) }) { return stream }
        try confirmAbsence(of: span, in: transaction)
        return nil
    }

    /// As in ``Checked``: a name whose bytes changed is one of the two around the place where it is missed.
    private func confirmAbsence(of key: RawSpan, in transaction: borrowing ReadTransaction) throws {
        try transaction.withCursor(database) { cursor in
            if try cursor.seek(key) { _ = try cursor.withEntry { try NameTable.number($1, key: $0) } }
            if try cursor.previous() { _ = try cursor.withEntry { try NameTable.number($1, key: $0) } }
        }
    }

    package func put(_ key: [UInt8], stream: StreamID, to transaction: inout WriteTransaction) throws(LMDBError) {
        var value: [UInt8] = []
        for shift in stride(from: UInt32(0), to: 32, by: 8) {
            value.append(UInt8(truncatingIfNeeded: stream.rawValue >> shift))
        }
        Checked.seal(&value, key: RawSpan(_elements: key.span))
        try transaction.put(database, RawSpan(_elements: key.span), RawSpan(_elements: value.span))
    }

    /// Users after `name` whose names begin with `prefix`, in byte order, at most `limit`.
    package func users(
        after name: String?, prefix: String = "", limit: Int, in transaction: borrowing ReadTransaction
    ) throws -> [(name: String, stream: StreamID)] {
        let from = name.map { $0.precedesInBytes(prefix) ? prefix : $0 } ?? prefix
        let start = NameTable.key(user: from)
        try confirmAbsence(of: RawSpan(_elements: start.span), in: transaction)
        return try transaction.withCursor(database) { cursor in
            var users: [(name: String, stream: StreamID)] = []
            var found = try cursor.seek(RawSpan(_elements: start.span))
            while found, users.count < limit {
                if users.count.isMultiple(of: 1_024) { try Cancellation.checkCurrent() }
                let user: (name: String, stream: StreamID)? = try cursor.withEntry { key, value in
                    var bytes: [UInt8] = []
                    bytes.append(copying: key)
                    let stream = try NameTable.number(value, key: key)
                    guard bytes.first == NameTable.userTag else { return nil }
                    guard let text = String(validating: bytes.dropFirst(), as: UTF8.self) else {
                        throw PackedError.damaged("a user's name is not UTF-8")
                    }
                    return (text, stream)
                }
                guard let user, user.name.utf8.starts(with: prefix.utf8) else { break }
                if !name.hasSameBytes(as: user.name) { users.append(user) }
                found = try cursor.next()
            }
            return users
        }
    }

    /// The identities of all topics.
    package func topics(in transaction: borrowing ReadTransaction) throws -> [Identity] {
        try transaction.withCursor(database) { cursor in
            var topics: [Identity] = []
            var found = try cursor.seek(RawSpan(_elements: [NameTable.topicTag].span))
            while found {
                let identity: Identity? = try cursor.withEntry { key, value in
                    guard key.byteCount > 0, key.byte(at: 0) == NameTable.topicTag else { return nil }
                    _ = try NameTable.number(value, key: key)
                    guard key.byteCount == 9 else { throw PackedError.damaged("the identity of a topic") }
                    return Identity(rawValue: key.littleEndian(at: 1, as: UInt64.self).byteSwapped)
                }
                guard let identity else { break }
                topics.append(identity)
                found = try cursor.next()
            }
            return topics
        }
    }

    private static func number(_ value: RawSpan, key: RawSpan) throws(PackedError) -> StreamID {
        try Checked.check(value, key: key)
        guard value.byteCount == 4 + Checked.checksumBytes else { throw .damaged("the number of a stream") }
        return StreamID(rawValue: value.littleEndian(at: 0))
    }
}
