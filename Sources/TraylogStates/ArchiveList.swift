import TraylogArchive
@_spi(Replication) import TraylogDomain
import TraylogLMDB
import TraylogLog

/// Where the store's archives were put: the path of each one's directory, by name, beside the store's record.
package struct ArchiveList: Sendable {
    let database: Database

    private static let prefix: [UInt8] = Array("archive".utf8) + [0]
    /// Of archives that a run was about to finish: if it was killed, nobody knows whether they are there.
    private static let pendingPrefix: [UInt8] = Array("pending".utf8) + [0]

    /// Those that runs finished.
    ///
    /// - Throws: ``PackedError``, ``LMDBError``.
    package func all(in transaction: borrowing ReadTransaction) throws -> [(name: String, directory: String)] {
        try archives(ArchiveList.prefix, in: transaction)
    }

    /// Those that runs were about to finish.
    package func pending(in transaction: borrowing ReadTransaction) throws -> [(name: String, directory: String)] {
        try archives(ArchiveList.pendingPrefix, in: transaction)
    }

    private func archives(
        _ start: [UInt8], in transaction: borrowing ReadTransaction
    ) throws -> [(name: String, directory: String)] {
        try transaction.withCursor(database) { cursor in
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

    /// Adds a finished archive, which is not pending any more.
    package func add(_ name: String, in directory: String, to transaction: inout WriteTransaction) throws(LMDBError) {
        try put(ArchiveList.prefix, name, directory, to: &transaction)
        let pending = ArchiveList.pendingPrefix + Array(name.utf8)
        _ = try transaction.delete(database, RawSpan(_elements: pending.span))
    }

    package func addPending(_ name: String, in directory: String, to transaction: inout WriteTransaction)
        throws(LMDBError)
    {
        try put(ArchiveList.pendingPrefix, name, directory, to: &transaction)
    }

    private func put(
        _ prefix: [UInt8], _ name: String, _ directory: String, to transaction: inout WriteTransaction
    ) throws(LMDBError) {
        let key = prefix + Array(name.utf8)
        var value = Array(directory.utf8)
        Checked.seal(&value, key: RawSpan(_elements: key.span))
        try transaction.put(database, RawSpan(_elements: key.span), RawSpan(_elements: value.span))
    }
}

extension StoreRecord {
    /// The record of a copy of the store that a segment is of, as far as the segment knows it.
    package init(archived end: SegmentEnd) {
        self.init(hasher: end.hasher)
        landmarkDistance = end.landmarkDistance
        history = end.history
    }

    /// Identifies the store in its archives, and tells nothing about the secret key.
    ///
    /// A restored store has another identity than the exported one.
    package var identity: StoreIdentity {
        StoreIdentity(
            hasher.identity(of: "traylog.archive", as: .topic).rawValue,
            hasher.identity(of: "traylog.archive", as: .key).rawValue)
    }
}
