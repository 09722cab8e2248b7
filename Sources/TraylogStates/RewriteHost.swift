import TraylogDomain
import TraylogLMDB
import TraylogLog

/// The writer of a store, as those see it who write the store anew while it goes on.
package protocol RewriteHost: Sendable {
    /// The store as it was published last; from now on, what `floor` will forbid is refused already.
    func announce(floor: UInt64) throws -> StoreMoment
    /// There will be no such floor, or there is.
    func withdrawFloor()
    /// From now on nobody can hold the user of a stream, who is to be erased.
    func announceErasure(of stream: StreamID) throws
    /// The erasure has ended, whatever became of it.
    func withdrawErasure()
    /// Lets an environment that holds everything take the place of the store's.
    ///
    /// - Parameters:
    ///   - erased: the stream that loses its name; nil for none.
    ///   - fill: brings the successor up to the moment, while the writer stands still. It is given the way in which an event
    ///     becomes part of the log of record, if the store has one.
    ///   - onExchange: called once nothing can keep the successor from being the store any more, before anybody reads it.
    func replaceEnvironment(
        by successor: Environment, erasing erased: StreamID?,
        fill: @escaping @Sendable (StoreMoment, Agreement) throws -> Void, onExchange: @escaping @Sendable () -> Void
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

/// The record and the head of a store at one moment.
package struct StoreMoment: Sendable {
    package let record: StoreRecord
    package let head: EventLog.Head
    /// The moment, by the store's clock.
    package let now: Timestamp

    package init(record: StoreRecord, head: EventLog.Head, now: Timestamp) {
        self.record = record
        self.head = head
        self.now = now
    }
}
