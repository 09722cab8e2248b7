import TraylogDomain
import TraylogLMDB
import TraylogLog

extension Core {
    /// What the file of a store holds, ready for writing: makes the store's record in a new one, and finds the events
    /// in an old one that its states do not hold yet.
    ///
    /// States are not folded here, but when somebody asks for them: opening costs a look at each unflushed event.
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
        var known = StreamSet()
        let firstNew = nextStream
        try tables.log.scanTail(
            after: flushedThrough, through: head.seq, environment, isKnown: { known.contains($0) },
            { event in
                if event.name != nil { known.insert(event.stream) }
                recover(event, firstNew: firstNew)
            })
    }

    /// Takes over one event of the tail.
    private mutating func recover(_ event: TailEvent, firstNew: UInt32) {
        tail.append(nil)
        guard event.stream != 0 else { return }
        let slot: UserSlot
        if let present = self.slot(event.stream) {
            slot = present
        } else {
            // The first event of each stream came with its name.
            slot = newSlot(
                for: event.name ?? .user(""), stream: event.stream,
                isNamed: event.stream < firstNew || event.name?.isErased == true)
            if event.stream >= firstNew, !slot.isErased {
                unnamed.append(slot)
                if slot.isTopic { committedTopics += 1 }
            }
            nextStream = max(nextStream, event.stream + 1)
            unstored.insert(event.stream)
        }
        if slot.isTopic { lastTopicEvent = event.seq }
        if slot.lastUnstored != 0 {
            tail.setNext(event.seq, after: slot.lastUnstored)
        } else {
            slot.firstUnstored = event.seq
        }
        slot.lastUnstored = event.seq
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
