/// Where a device keeps its outbox and its replica: tables of values under numbers.
///
/// ``LMDBStorage`` is the usual one. Another one, such as an app's own database, needs these functions and nothing else.
/// Values carry checksums of the client's, so that a storage may give back damaged bytes, but never invent rows.
/// Calls come one at a time, and block.
public protocol DeviceStorage: Sendable {
    /// For a person: each damage of the ``DeviceTable/outbox`` found at opening, now or earlier, with the repair and the
    /// next step.
    var damage: [String] { get }
    /// The value under a key; nil when there is none.
    func value(_ key: UInt64, in table: DeviceTable) throws(DeviceFailure) -> [UInt8]?
    /// The row with the greatest key at or below the one given; nil when there is none.
    func row(atOrBelow key: UInt64, in table: DeviceTable) throws(DeviceFailure) -> DeviceRow?
    /// The rows of a table from a key on, ascending, as long as `body` returns true.
    func forEach(in table: DeviceTable, from key: UInt64, _ body: (DeviceRow) -> Bool) throws(DeviceFailure)
    /// Makes all changes, in their order, or none. They survive a power cut when this returns. One write concerns the
    /// ``DeviceTable/outbox``, or the other tables.
    func write(_ changes: [DeviceChange]) throws(DeviceFailure)
    /// Empties all tables except the ``DeviceTable/outbox``, after damage in them was found: their content is fetched again.
    func discardReplica() throws(DeviceFailure)
    /// Ends the use of the storage and gives up its locks. Nothing is lost.
    func close()
    /// Ends the use of the storage and removes all that it holds from the disk, free pages included.
    func destroy() throws(DeviceFailure)
}

extension DeviceStorage {
    /// None.
    public var damage: [String] { [] }
}

/// The tables of a device.
///
/// The raw values are stored.
public enum DeviceTable: String, Hashable, Sendable, CaseIterable, Codable {
    /// Events of the outbox, by their numbers.
    case outbox
    /// The client's other data: one row for each concept.
    case state
    /// Events of the user's stream, and items of the snapshot.
    case events
    /// Pages of the replica, by their first position or identity.
    case items, keys, collapseKeys, moved, voided, tallies
}

/// One row of a table.
public struct DeviceRow: Hashable, Sendable, Codable {
    /// The number that it lies under.
    public var key: UInt64
    /// Its bytes.
    public var value: [UInt8]

    /// A row: entries of a table are in the order of their keys.
    public init(key: UInt64, value: [UInt8]) {
        self.key = key
        self.value = value
    }
}

/// One change of a ``DeviceStorage``.
public enum DeviceChange: Hashable, Sendable {
    /// Stores a row, in the place of one with the same key.
    case put(DeviceTable, key: UInt64, value: [UInt8])
    /// Does nothing when there is no such row.
    case remove(DeviceTable, key: UInt64)
    /// Removes all rows of a table.
    case clear(DeviceTable)
}

/// The reason why the device's storage failed, with the next step.
public struct DeviceFailure: Error, Hashable, Sendable, Codable {
    /// The kind of failure, for a caller that reacts to it.
    public enum Code: String, Hashable, Sendable, Codable {
        /// Another process, or another part of this one, has the directory.
        case inUse
        /// There is no room; nothing was stored.
        case diskFull
        /// The system does not let this process read or write.
        case permissionDenied
        /// Stored bytes differ from those that were written.
        case damaged
        /// The storage was closed.
        case closed
        /// The directory belongs to another user, or is not a device's.
        case foreign
        /// An option is out of its range; the message names both.
        case invalidOption
        /// Any other error of the operating system.
        case inputOutput
    }

    /// The kind of failure.
    public var code: Code
    /// For a person: what happened, where, and what to do next.
    public var message: String

    /// A failure with a message for people, for example with the path.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension DeviceFailure: CustomStringConvertible {
    /// ``message``.
    public var description: String { message }
}
