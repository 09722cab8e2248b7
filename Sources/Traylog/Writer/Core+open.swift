import TraylogDomain
import TraylogLMDB
import TraylogPlatform
import TraylogLog

extension Core {
    /// What the file of a store holds, ready for writing: makes the store's record in a new one, and finds the events
    /// in an old one that its states do not hold yet.
    ///
    /// States are not folded here, and most slots are not made, but when somebody asks for them: opening costs a look at
    /// each unflushed event.
    static func open(_ environment: Environment, tables: Tables, options: StoreOptions) throws -> Core {
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
        var core = Core(
            environment: environment, tables: tables, record: record, head: head, cacheBytes: options.cacheBytes)
        try core.recover()
        let dues = tables.dues(core.generation)
        core.committedStreams = UInt64(core.nextStream) - 1
        core.committedTopics += record.topics
        core.nextDue = try environment.read { try dues.first(in: $0) }
        return core
    }

    private mutating func recover() throws {
        let firstNew = nextStream
        var sleeping = TailStreams(after: flushedThrough)
        // No more than the longest of tails, because a damaged log may seem to be of any length.
        tail.reserve(Int(min(head.seq - flushedThrough, 2_000_000)))
        try tables.log.scanTail(
            after: flushedThrough, through: head.seq, environment,
            // Who is new has to be known by name, and topics are looked for without their streams.
            wantsName: { event in
                guard event.stream >= firstNew || event.kind?.mayBeOfTopic ?? true else { return false }
                return event.stream != 0 && slot(event.stream) == nil && sleeping.first(of: event.stream) == nil
            },
            { events in
                sleeping.expect(events)
                for event in events { recover(event, firstNew: firstNew, &sleeping) }
            })
        self.sleeping = sleeping
    }

    /// Takes over one event of the tail.
    private mutating func recover(_ event: TailEvent, firstNew: UInt32, _ sleeping: inout TailStreams) {
        tail.appendUnread()
        guard event.stream != 0 else { return }
        if let slot = slot(event.stream) {
            append(event.seq, to: slot)
        } else if let name = event.name, event.stream >= firstNew || name.isTopic {
            let isNew = event.stream >= firstNew
            append(event.seq, to: recoveredSlot(for: name, stream: event.stream, isNew: isNew))
        } else if let previous = sleeping.append(event.seq, to: event.stream) {
            tail.setNext(event.seq, after: previous)
        } else {
            unstored.insert(event.stream)
        }
    }

    /// A slot for somebody whose first event in the tail this is.
    private mutating func recoveredSlot(for name: StreamName, stream: UInt32, isNew: Bool) -> UserSlot {
        let slot = newSlot(for: name, stream: stream, isNamed: !isNew || name.isErased)
        if isNew, !slot.isErased {
            unnamed.append(slot)
            if slot.isTopic { committedTopics += 1 }
        }
        nextStream = max(nextStream, stream + 1)
        unstored.insert(stream)
        return slot
    }

    private mutating func append(_ seq: UInt64, to slot: UserSlot) {
        if slot.isTopic { lastTopicEvent = seq }
        if slot.lastUnstored != 0 { tail.setNext(seq, after: slot.lastUnstored) } else { slot.firstUnstored = seq }
        slot.lastUnstored = seq
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

extension StoreRecord {
    /// That of a new store, with a secret of its own.
    static func new() -> StoreRecord {
        var random = RandomPool()
        let (key0, key1) = random.next16()
        return StoreRecord(hasher: IdentityHasher(key0: key0, key1: key1))
    }
}
