import TraylogDomain
import TraylogLMDB
import TraylogLog

/// The writer of a store, as those see it who write the store anew while it goes on.
package protocol RewriteHost: Sendable {
    /// Notes from now on what changes in the file, and keeps states as they were right before `floor`, with which all
    /// states from below are stored.
    ///
    /// - Parameter progress: called now and then; throws to give up.
    func beginCapture(floor: UInt64, progress: () throws -> Void) throws -> CaptureStart
    /// Lends what changed since the last call, while the writer stands still.
    ///
    /// - Throws: when nobody knows what changed, because the memory of the store was made anew from its file.
    func takeCapture<Result: Sendable>(
        _ body: @escaping @Sendable (CapturedChanges) throws -> Result
    ) throws -> Result
    /// Ends what ``beginCapture(floor:progress:)`` began.
    func endCapture()
    /// Lets an environment that holds everything take the place of the store's.
    ///
    /// - Parameters:
    ///   - erased: the stream that loses its name; nil for none.
    ///   - fill: brings the successor up to the last changes, while the writer stands still, and says what it holds. It is
    ///     given the way in which an event becomes part of the log of record, if the store has one.
    func replaceEnvironment(
        by successor: Environment, erasing erased: StreamID?,
        fill: @escaping @Sendable (CapturedChanges, Agreement) throws -> RewrittenStore
    ) throws
    /// Makes a transaction of few pages, and waits until it is durable.
    func write(_ body: @escaping @Sendable (inout WriteTransaction) throws -> Void) throws(TraylogError)
    /// Lets the transactions of ``write(_:)`` wait, once the one under way has ended.
    func holdWrites() throws
    /// Lets them go on.
    func releaseWrites()
}

/// Has the log of record take an event, and returns where it stands there; nil for a store that is its own log of record.
package typealias Agreement = (RecordBatch) throws -> (source: String, position: UInt64)?

/// The store at the moment at which its writer began to note changes.
package struct CaptureStart: Sendable {
    package let record: StoreRecord
    package let head: UInt64
    /// The one that comes next.
    package let nextStream: StreamID

    package init(record: StoreRecord, head: UInt64, nextStream: StreamID) {
        self.record = record
        self.head = head
        self.nextStream = nextStream
    }
}

/// The changes of the writer since it was asked last, and the store after them.
package struct CapturedChanges: Sendable {
    package let changes: CopyCapture
    package let record: StoreRecord
    package let head: EventLog.Head

    package init(changes: CopyCapture, record: StoreRecord, head: EventLog.Head) {
        self.changes = changes
        self.record = record
        self.head = head
    }
}

/// The store after a rewrite.
package struct RewrittenStore: Sendable {
    package let record: StoreRecord
    package let head: EventLog.Head

    package init(record: StoreRecord, head: EventLog.Head) {
        self.record = record
        self.head = head
    }
}

/// The changes of the writer while its store was copied: these parts of the copy are out of date.
package struct CopyCapture: Sendable {
    /// Streams whose stored states changed.
    package var streams = StreamSet()
    /// Names that were stored.
    package var names: [(key: [UInt8], stream: StreamID)] = []
    /// Due times that were set and those that were settled, in order.
    package var dues: [(entry: DueEntry, isAdded: Bool)] = []
    /// Events below the floor-to-be that are needed again, because an item was restored.
    package var needed: [UInt64] = []
    /// The same for items, which can be due again.
    package var restored: [(item: UInt64, stream: StreamID)] = []

    package init() {}

    package mutating func note(added: [DueEntry], settled: [DueEntry]) {
        for entry in added { dues.append((entry, true)) }
        for entry in settled { dues.append((entry, false)) }
    }
}
