import TraylogDomain
import TraylogLMDB
import TraylogLog

/// Where the store's archives were put: the path of each one's directory, by name, beside the store's record.
struct ArchiveList: Sendable {
    let database: Database

    private static let prefix: [UInt8] = Array("archive".utf8) + [0]

    /// - Throws: ``PackedError``, ``LMDBError``.
    func all(in transaction: borrowing ReadTransaction) throws -> [(name: String, directory: String)] {
        let start = ArchiveList.prefix
        return try transaction.withCursor(database) { cursor in
            var archives: [(name: String, directory: String)] = []
            var found = try cursor.seek(RawSpan(_elements: start.span))
            while found {
                let archive: (String, String)? = try cursor.withEntry { key, value in
                    guard key.byteCount > start.count,
                        key.starts(with: RawSpan(_elements: start.span), count: start.count)
                    else { return nil }
                    var name: [UInt8] = []
                    name.append(copying: key.extracting(start.count...))
                    let path = try Checked.open(value, key: key)
                    guard let name = String(validating: name, as: UTF8.self),
                        let path = String(validating: path, as: UTF8.self)
                    else { throw PackedError.damaged("the list of archives") }
                    return (name, path)
                }
                guard let archive else { break }
                archives.append(archive)
                found = try cursor.next()
            }
            return archives
        }
    }

    func add(_ name: String, in directory: String, to transaction: inout WriteTransaction) throws(LMDBError) {
        let key = ArchiveList.prefix + Array(name.utf8)
        var value = Array(directory.utf8)
        Checked.seal(&value, key: RawSpan(_elements: key.span))
        try transaction.put(database, RawSpan(_elements: key.span), RawSpan(_elements: value.span))
    }
}
