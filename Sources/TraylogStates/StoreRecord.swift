@_spi(Replication) import TraylogDomain
import TraylogLMDB
import TraylogPlatform
import TraylogLog

/// The record that says what the store is, and what its log holds.
///
/// It is a row of the log's tables. How far the derived tables have come stands in a row of theirs (``StateProgress``).
package struct StoreRecord: Hashable, Sendable {
    static let format: UInt8 = 5
    /// Stands in the place of the format as long as a restore writes the log.
    private static let unfinished: UInt8 = 0
    static let key: [UInt8] = Array("store".utf8)

    /// The secret key of identities (``IdentityHasher``).
    package var hasher: IdentityHasher
    /// That of every state (``TrayState/landmarkDistance``).
    package var landmarkDistance = TrayState.defaultLandmarkDistance
    package var floor = Floor()
    /// Streams below this one began before the floor.
    package var floorStreams = StreamID.absent
    /// How many events left the log.
    package var dropped: UInt64 = 0
    /// How many of the streams belong to erased users.
    package var erased: UInt64 = 0
    /// Which events the store shares with its copies.
    package var history = StoreHistory()
    /// Where the store lies (``Environment/place``) that these events belong to; ``nowhere`` while that is open.
    package var place = nowhere

    /// The place of a store whose newest events another copy may have, too, or may lack: one that follows a log of record, or that
    /// a relaxed writer has open.
    package static let nowhere: UInt64 = 0
    /// How far the derived tables have come; ``write(_:isFinished:to:)`` leaves it out.
    package var states = StateProgress()

    /// The store's record without ``states``, for what asks the log alone.
    ///
    /// - Returns: nil when the store was never written to.
    /// - Throws: ``StoreFailure`` `unfinished`, ``PackedError``.
    package static func read(_ database: Database, in transaction: borrowing ReadTransaction) throws -> StoreRecord? {
        guard let (record, isFinished) = try readAny(database, in: transaction) else { return nil }
        guard isFinished else { throw StoreFailure.unfinishedRestore }
        return record
    }

    /// The store's record with ``states``.
    ///
    /// - Returns: nil when the store was never written to.
    /// - Throws: the same; ``DamagedStates`` when it cannot be known what the derived tables hold.
    package static func read(_ tables: Tables, in transaction: borrowing ReadTransaction) throws -> StoreRecord? {
        guard var record = try read(tables.log.meta, in: transaction) else { return nil }
        record.states = try tables.derived.progress(in: transaction)
        return record
    }

    /// The same for a restore, which may find what another one left.
    package static func readAny(
        _ database: Database, in transaction: borrowing ReadTransaction
    ) throws -> (record: StoreRecord, isFinished: Bool)? {
        try transaction.get(database, RawSpan(_elements: key.span)) { value in
            var reader = PackedReader(try Checked.open(value, key: RawSpan(_elements: key.span)))
            return try decode(from: &reader)
        }
    }

    /// The keys of the rows that ``salvaged(_:)`` and ``StateProgress/salvaged(_:)`` can read.
    package static let salvagedKeys = [key, StateProgress.key]

    /// The records among some values found in the pages of a damaged file.
    package static func salvaged(_ values: [[UInt8]]) -> [StoreRecord] {
        Checked.salvaged(values, key: key).compactMap { bytes in
            var reader = PackedReader(bytes)
            return try? decode(from: &reader).record
        }
    }

    static func decode(from reader: inout PackedReader) throws(PackedError) -> (record: StoreRecord, isFinished: Bool) {
        let format = try reader.byte()
        guard format >= StoreRecord.format || format == unfinished else { throw .older(version: format) }
        guard format <= StoreRecord.format else { throw .newer(version: format) }
        let key0 = try reader.fixed64()
        var record = StoreRecord(hasher: IdentityHasher(key0: key0, key1: try reader.fixed64()))
        record.landmarkDistance = try reader.varint()
        try record.readFloor(&reader)
        try record.readHistory(&reader)
        return (record, format == StoreRecord.format)
    }

    /// - Throws: ``CodecError``, ``PackedError`` `damaged` when the log is shorter than what the record says of it.
    package func check(head: UInt64) throws {
        guard states.through <= head else {
            throw CodecError(.damaged, seq: head + 1, "states hold it, and the log does not")
        }
        guard floor.seq.rawValue <= head + 1 else { throw PackedError.damaged("a floor beyond the log") }
        guard erased <= head else { throw PackedError.damaged("more erased users than events") }
        guard history.forks.last?.after.rawValue ?? 0 <= head else {
            throw PackedError.damaged("a fork beyond the log")
        }
        // Each stream began with an event.
        guard floorStreams <= states.nextStream, UInt64(states.nextStream.rawValue) - 1 <= head else {
            throw DamagedStates("the record of the stored states (more streams than events)")
        }
    }

    /// Writes the record with ``states``.
    package func write(_ tables: Tables, to transaction: inout WriteTransaction) throws(LMDBError) {
        try write(tables.log.meta, to: &transaction)
        try states.write(tables.derived, to: &transaction)
    }

    /// Writes the record without ``states``.
    ///
    /// - Parameter isFinished: whether the log is whole; nobody opens a store that says no.
    package func write(
        _ database: Database, isFinished: Bool = true, to transaction: inout WriteTransaction
    ) throws(LMDBError) {
        var bytes = packed(isFinished: isFinished)
        let key = StoreRecord.key
        Checked.seal(&bytes, key: RawSpan(_elements: key.span))
        try transaction.put(database, RawSpan(_elements: key.span), RawSpan(_elements: bytes.span))
    }

    /// The bytes that ``decode(from:)`` reads.
    func packed(isFinished: Bool) -> [UInt8] {
        var bytes: [UInt8] = [isFinished ? StoreRecord.format : StoreRecord.unfinished]
        bytes.appendFixed64(hasher.key0)
        bytes.appendFixed64(hasher.key1)
        bytes.appendVarint(landmarkDistance)
        writeFloor(&bytes)
        writeHistory(&bytes)
        return bytes
    }
}

extension StoreRecord {
    fileprivate mutating func readFloor(_ reader: inout PackedReader) throws(PackedError) {
        floor.seq = Seq(try reader.varint())
        floorStreams = try reader.stream("streams below the floor")
        dropped = try reader.varint()
        guard floor.seq.rawValue <= Seq.highest, dropped <= floor.seq.rawValue else { throw .damaged("floor") }
        erased = try reader.varint()
        guard let name = String(validating: try reader.take(reader.count()), as: UTF8.self) else {
            throw .damaged("the name of an archive")
        }
        floor.archive = name.isEmpty ? nil : name
    }

    fileprivate mutating func readHistory(_ reader: inout PackedReader) throws(PackedError) {
        place = try reader.fixed64()
        let count = try reader.varint()
        guard count <= StoreHistory.mostForks else { throw .damaged("the number of forks") }
        var forks: [StoreHistory.Fork] = []
        for _ in 0..<count {
            forks.append(StoreHistory.Fork(id: try reader.fixed64(), after: Seq(try reader.varint())))
        }
        guard let history = StoreHistory(forks), forks.last?.after ?? .zero <= Seq(Seq.highest) else {
            throw .damaged("forks")
        }
        self.history = history
    }

    fileprivate func writeFloor(_ bytes: inout [UInt8]) {
        bytes.appendVarint(floor.seq.rawValue)
        bytes.appendVarint(UInt64(floorStreams.rawValue))
        bytes.appendVarint(dropped)
        bytes.appendVarint(erased)
        let name = floor.archive ?? ""
        bytes.appendVarint(UInt64(name.utf8.count))
        bytes.append(contentsOf: name.utf8)
    }

    fileprivate func writeHistory(_ bytes: inout [UInt8]) {
        bytes.appendFixed64(place)
        bytes.appendVarint(UInt64(history.forks.count))
        for fork in history.forks {
            bytes.appendFixed64(fork.id)
            bytes.appendVarint(fork.after.rawValue)
        }
    }
}

extension StoreFailure {
    fileprivate static let unfinishedRestore = StoreFailure(
        code: .unfinished,
        message:
            "a restore into this store did not come to its end, so that events are missing; repeat it with `traylog "
            + "restore`, or delete the directory")
}

extension StoreRecord {
    /// The record of a new store, with its own secret.
    package static func new() -> StoreRecord {
        var random = RandomPool()
        let (key0, key1) = random.next16()
        return StoreRecord(hasher: IdentityHasher(key0: key0, key1: key1))
    }
}

extension PackedReader {
    mutating func stream(_ what: String) throws(PackedError) -> StreamID {
        guard let number = UInt32(exactly: try varint()) else { throw .damaged(what) }
        return StreamID(rawValue: number)
    }
}
