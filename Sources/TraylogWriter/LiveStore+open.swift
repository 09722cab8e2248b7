@_spi(Replication) import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogPlatform
import TraylogStates

/// Where the events of a store come from.
package enum EventOrigin: Sendable {
    /// It decides them.
    case itself
    /// It takes those of another store, whose copy it stays.
    case otherStore
    /// A log of record decides which of them count.
    case logOfRecord
}

extension LiveStore {
    /// Makes the record of a new store, and begins a new history where the store is a copy or may have lost events that somebody
    /// saw.
    ///
    /// Such a store lies in another place than the record says: `writer.lock` is another file. Or the file `wake` knows of
    /// events that the log lacks, because somebody put an older data file in the place of the newer one. Or the last writer was
    /// relaxed and did not close the store, so that a power cut may have taken events that had been answered. To begin a new
    /// history without need does no harm: whatever was read before stays valid.
    ///
    /// A log of record decides what counts, and roots are compared with it; so a store that follows one has the log's history, and
    /// begins its own when it is opened by itself.
    package static func claim(
        _ environment: Environment, tables: Tables, options: StoreOptions, origin: EventOrigin
    ) throws {
        let (stored, head) = try environment.read { transaction in
            (try StoreRecord.read(tables.log.meta, in: transaction), try tables.log.events.head(in: transaction).seq)
        }
        let place = environment.place ?? StoreRecord.nowhere
        var record: StoreRecord
        if let stored {
            record = stored
            let announced = WakeFile.announced(in: environment.directory) ?? 0
            if origin == .logOfRecord { record.history = StoreHistory() }
            if origin == .itself, record.place != place || announced > head {
                record.history.fork(after: Seq(head), id: max(1, SystemRandom.number()))
            }
        } else {
            guard head == 0 else { throw PackedError.damaged("the store's own record is missing") }
            record = .new()
            record.landmarkDistance = options.landmarkDistance
        }
        record.place = origin != .itself || options.durability == .relaxed ? StoreRecord.nowhere : place
        guard record != stored else { return }
        try environment.write { transaction in
            try record.write(tables.log.meta, to: &transaction)
            if stored == nil { try record.states.write(tables.derived, to: &transaction) }
        }
        try environment.sync()
    }

    /// Reads the file of a store, ready for writing, and finds the events that its states do not hold yet.
    ///
    /// States are not folded here, and most streams do not come into memory, but when somebody asks for them: opening costs a
    /// look at each unflushed event.
    ///
    /// - Throws: what ``DerivedTables/caused(_:)`` knows, where the states have to be derived anew first.
    package static func open(_ environment: Environment, tables: Tables, options: StoreOptions) throws -> LiveStore {
        let (stored, head) = try environment.read { transaction in
            (try StoreRecord.read(tables, in: transaction), try tables.log.events.head(in: transaction))
        }
        guard let record = stored else { throw PackedError.damaged("the store's own record is missing") }
        try record.check(head: head.seq)
        var store = LiveStore(
            environment: environment, tables: tables, record: record, options: options)
        try store.recover(through: head)
        let dues = tables.derived.dues
        do {
            store.nextDue = try environment.read { try dues.first(in: $0) }
        } catch let error as PackedError {
            throw DamagedStates("a time that is due (\(error.reason))")
        }
        return store
    }

    private mutating func recover(through head: EventLog.Head) throws {
        var lookups = Self.lookupsAtOpening
        let firstNew = directory.nextNumber
        try tables.log.events.scanTail(
            after: record.states.through, through: head.seq, environment,
            // New users must be known by name, and topics are looked for without their streams.
            wantsName: { event in
                guard event.stream >= firstNew || event.kind?.mayBeOfTopic ?? true else { return false }
                return event.stream != .absent && directory[event.stream] == nil && tail.first(of: event.stream) == 0
            },
            { events in
                for event in events { try recover(event, firstNew: firstNew, head, &lookups) }
            })
        publish(head)
    }

    /// Stored states whose revision an opening looks up, so that its time does not depend on the length of the tail.
    ///
    /// With the others a gap between state and tail shows when somebody asks for them.
    private static let lookupsAtOpening = 256

    /// Takes over one event of the tail.
    ///
    /// - Parameter head: the newest event of all.
    private mutating func recover(
        _ event: TailEvent, firstNew: StreamID, _ head: EventLog.Head, _ lookups: inout Int
    ) throws {
        if event.stream != .absent { try checkRevision(event, isOld: event.stream < firstNew, &lookups) }
        var stream = event.stream == .absent ? nil : directory[event.stream]
        if stream == nil, let name = event.name, event.stream >= firstNew || name.isTopic {
            let isNew = event.stream >= firstNew
            let new = LiveStream(
                name: name, identity: identity(of: name), number: event.stream, isNamed: !isNew || name.isErased)
            if isNew { directory.insertRecovered(new) } else { directory.insert(new) }
            stream = new
        }
        var newest = head
        newest.seq = event.seq
        appendDurable(newest, to: event.stream, revision: event.revision, topic: stream?.topic)
    }

    /// Checks that no event of the stream is missing before this one, and that none is there twice.
    ///
    /// - Parameters:
    ///   - isOld: whether a state of the stream may be stored.
    ///   - lookups: how many stored states may still be looked at.
    private func checkRevision(_ event: TailEvent, isOld: Bool, _ lookups: inout Int) throws {
        var newest = tail.revision(of: event.stream).map { UInt64($0) }
        if newest == nil {
            guard isOld else { return try event.checkRevision(after: 0) }
            guard lookups > 0 else { return }
            lookups -= 1
            newest = try storedRevision(before: event)
        }
        if let newest { try event.checkRevision(after: newest) }
    }

    /// The revision of the newest event that the stored state of the event's stream holds; nil where that says nothing about
    /// the event: it is damaged, or it holds the event already.
    private func storedRevision(before event: TailEvent) throws -> UInt64? {
        let states = tables.derived.states
        do {
            let stored = try environment.read { try states.root(event.stream, in: $0) }
            guard let events = stored?.state.events, events.last < event.seq else { return nil }
            return events.count
        } catch PackedError.damaged {
            return nil
        }
    }
}

extension TailEvent {
    fileprivate func checkRevision(after newest: UInt64) throws(CodecError) {
        guard revision != newest + 1 else { return }
        throw CodecError(RevisionFault(seq: seq, expected: newest + 1, found: UInt64(revision)), stream: stream)
    }
}

extension EventKind {
    /// Whether it can stand in the stream of a topic.
    fileprivate var mayBeOfTopic: Bool {
        switch self {
        case .broadcast, .edited, .retracted, .expired, .reminded, .arrived: true
        default: false
        }
    }
}
