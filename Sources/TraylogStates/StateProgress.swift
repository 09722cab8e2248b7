import TraylogDomain
import TraylogLMDB
import TraylogLog

/// How far the derived tables have come: their own row, written with them.
package struct StateProgress: Hashable, Sendable {
    static let key: [UInt8] = Array("states".utf8)

    /// Stored states hold every event up to this one.
    package var through: UInt64 = 0
    /// The next new stream, as of ``through``.
    package var nextStream = StreamID.first
    /// How many of the streams below it are topics'.
    package var topics: UInt64 = 0

    package init() {}

    /// - Returns: nil where nothing was derived yet.
    static func read(_ database: Database, in transaction: borrowing ReadTransaction) throws -> StateProgress? {
        try transaction.get(database, RawSpan(_elements: key.span)) { value in
            var reader = PackedReader(try Checked.open(value, key: RawSpan(_elements: key.span)))
            return try StateProgress(from: &reader)
        }
    }

    /// The same as ``StoreRecord/salvaged(_:)``.
    package static func salvaged(_ values: [[UInt8]]) -> [StateProgress] {
        Checked.salvaged(values, key: key).compactMap { bytes in
            var reader = PackedReader(bytes)
            return try? StateProgress(from: &reader)
        }
    }

    init(from reader: inout PackedReader) throws(PackedError) {
        through = try reader.varint()
        guard through <= Seq.highest else { throw .damaged("the newest event of the states") }
        nextStream = try reader.stream("stream")
        guard nextStream >= .first, nextStream <= .highest else { throw .damaged("stream") }
        topics = try reader.varint()
        guard topics < UInt64(nextStream.rawValue) else { throw .damaged("topics") }
    }

    package func write(_ tables: DerivedTables, to transaction: inout WriteTransaction) throws(LMDBError) {
        var bytes = packed()
        let key = StateProgress.key
        Checked.seal(&bytes, key: RawSpan(_elements: key.span))
        try transaction.put(tables.meta, RawSpan(_elements: key.span), RawSpan(_elements: bytes.span))
    }

    /// The bytes that ``init(from:)`` reads.
    func packed() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendVarint(through)
        bytes.appendVarint(UInt64(nextStream.rawValue))
        bytes.appendVarint(topics)
        return bytes
    }
}

/// The derived tables cannot be read.
///
/// A writer derives them from the log again.
package struct DamagedStates: Error {
    /// The damaged part, in words.
    package let what: String

    package init(_ what: String) { self.what = what }
}

extension DerivedTables {
    /// How far these tables have come.
    ///
    /// - Throws: ``DamagedStates``.
    package func progress(in transaction: borrowing ReadTransaction) throws -> StateProgress {
        do {
            if let progress = try StateProgress.read(meta, in: transaction) { return progress }
        } catch let error as PackedError {
            throw DamagedStates("the record of the stored states (\(error.reason))")
        }
        throw DamagedStates("the record of the stored states (it is missing)")
    }

    /// Whether an error comes from these tables, which the log can give anew.
    package static func caused(_ error: any Error) -> Bool {
        switch error {
        case is DamagedStates: true
        case let error as LMDBError: error.table.map { names.contains($0) } ?? false
        default: false
        }
    }
}
