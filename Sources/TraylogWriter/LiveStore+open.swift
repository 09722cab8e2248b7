import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogStates

extension LiveStore {
    /// Reads the file of a store, ready for writing: makes the store's record in a new one, and finds the events
    /// in an old one that its states do not hold yet.
    ///
    /// States are not folded here, and most streams do not come into memory, but when somebody asks for them: opening costs a
    /// look at each unflushed event.
    package static func open(_ environment: Environment, tables: Tables, options: StoreOptions) throws -> LiveStore {
        let (stored, head) = try environment.read { transaction in
            (try StoreRecord.read(tables.meta, in: transaction), try tables.log.head(in: transaction))
        }
        let record: StoreRecord
        if let stored {
            record = stored
        } else {
            guard head.seq == 0 else { throw PackedError.damaged("the store's own record is missing") }
            var new = StoreRecord.new()
            new.landmarkDistance = options.landmarkDistance
            record = new
            try environment.write { try record.write(tables.meta, to: &$0) }
        }
        try record.check(head: head.seq)
        var store = LiveStore(
            environment: environment, tables: tables, record: record, options: options)
        try store.recover(through: head)
        let dues = tables.dues
        store.nextDue = try environment.read { try dues.first(in: $0) }
        return store
    }

    private mutating func recover(through head: EventLog.Head) throws {
        let firstNew = directory.nextNumber
        try tables.log.scanTail(
            after: record.flushedThrough, through: head.seq, environment,
            // Who is new has to be known by name, and topics are looked for without their streams.
            wantsName: { event in
                guard event.stream >= firstNew || event.kind?.mayBeOfTopic ?? true else { return false }
                return event.stream != .absent && directory[event.stream] == nil && tail.first(of: event.stream) == 0
            },
            { events in
                for event in events { recover(event, firstNew: firstNew, head) }
            })
        publish(head)
    }

    /// Takes over one event of the tail.
    ///
    /// - Parameter head: the newest event of all.
    private mutating func recover(_ event: TailEvent, firstNew: StreamID, _ head: EventLog.Head) {
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
        appendDurable(newest, to: event.stream, topic: stream?.topic)
    }
}

extension EventKind {
    /// Whether it can stand in the stream of a topic.
    fileprivate var mayBeOfTopic: Bool {
        switch self {
        case .broadcast, .edited, .retracted, .expired: true
        default: false
        }
    }
}
