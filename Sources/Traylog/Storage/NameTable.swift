import TraylogDomain
import TraylogLMDB
import TraylogLog

/// From the names of users to the numbers of their streams, in byte order of the names.
struct NameTable: Sendable {
    let database: Database

    private static let userTag = UInt8(ascii: "u")

    static func key(user: String) -> [UInt8] { [userTag] + Array(user.utf8) }

    func stream(of user: String, in transaction: borrowing ReadTransaction) throws -> UInt32? {
        let key = NameTable.key(user: user)
        return try transaction.get(database, RawSpan(_elements: key.span)) { try NameTable.number($0) }
    }

    func put(_ user: String, stream: UInt32, to transaction: inout WriteTransaction) throws(LMDBError) {
        let key = NameTable.key(user: user)
        var value: [UInt8] = []
        for shift in stride(from: UInt32(0), to: 32, by: 8) { value.append(UInt8(truncatingIfNeeded: stream >> shift)) }
        try transaction.put(database, RawSpan(_elements: key.span), RawSpan(_elements: value.span))
    }

    /// Users after `name` in byte order, at most `limit`.
    func users(
        after name: String?, limit: Int, in transaction: borrowing ReadTransaction
    ) throws -> [(name: String, stream: UInt32)] {
        let start = NameTable.key(user: name ?? "")
        return try transaction.withCursor(database) { cursor in
            var users: [(name: String, stream: UInt32)] = []
            var found = try cursor.seek(RawSpan(_elements: start.span))
            while found, users.count < limit {
                let user: (name: String, stream: UInt32)? = try cursor.withEntry { key, value in
                    var bytes: [UInt8] = []
                    bytes.append(copying: key)
                    guard bytes.first == NameTable.userTag else { return nil }
                    guard let text = String(validating: bytes.dropFirst(), as: UTF8.self) else {
                        throw PackedError.damaged("a user's name is not UTF-8")
                    }
                    return (text, try NameTable.number(value))
                }
                guard let user else { break }
                if !name.hasSameBytes(as: user.name) { users.append(user) }
                found = try cursor.next()
            }
            return users
        }
    }

    private static func number(_ value: RawSpan) throws(PackedError) -> UInt32 {
        guard value.byteCount == 4 else { throw .damaged("a user's number") }
        return value.littleEndian(at: 0)
    }
}
