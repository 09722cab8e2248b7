import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogStates

/// The store as the writing process has it in memory, beyond its file: streams, their states, the tail, the keys.
///
/// A value behind one lock. The writer changes it; readers of the same process look and let states catch up.
package struct LiveStore {
    var environment: Environment
    let tables: Tables
    package let hasher: IdentityHasher
    let landmarkDistance: UInt64
    let categoryNames = CategoryNames()
    /// The snapshot of one turn of the lock.
    let section = SectionSnapshot()
    /// The store's record as it was read or compacted last; flushing keeps it up to date.
    var record: StoreRecord
    /// The floor that a rewrite under way will set; 0 for none.
    ///
    /// The writer refuses already what this floor will forbid.
    var nextFloor: UInt64 = 0
    /// The stream of the user whose erasure is under way; nil for none.
    ///
    /// The writer refuses to hold them: archives may have lost the user's events already.
    var erasing: StreamID?

    /// The undos that the request in turn brought along, already folded.
    var undos: [PreparedUndo] = []

    var directory: StreamDirectory
    var states: StateCache
    private(set) var tail: LogTail
    private(set) var knownKeys = KnownKeys()
    /// The earliest due time; nil when nothing is due.
    var nextDue: Timestamp?
    /// Something that was due waits for its item to be restored.
    var hasWaitingDues = false
    /// How many damaged states were folded anew from the log.
    private(set) var refolded: UInt64 = 0
    /// Whether a damaged state is folded once the lock is free (``DamagedStream``); else at once.
    var refoldsLater = false
    /// Some of them are not stored yet.
    private(set) var hasRefolded = false

    init(environment: Environment, tables: Tables, record: StoreRecord, options: StoreOptions) {
        self.environment = environment
        self.tables = tables
        self.record = record
        hasher = record.hasher
        landmarkDistance = record.landmarkDistance
        directory = StreamDirectory(nextNumber: record.states.nextStream, topics: record.states.topics)
        states = StateCache(limit: options.cacheBytes, heavyPages: options.pagesAtOnce)
        tail = LogTail(after: record.states.through)
    }

    /// The newest durable event.
    package var head: EventLog.Head { tail.head }

    /// Something is not stored that the log has, or that was damaged.
    var isDirty: Bool { tail.count > 0 || hasRefolded }

    // MARK: Users and topics

    /// The user's stream, which most likely has this number; nil for one who never had an event.
    mutating func stream(of user: UserName, expecting number: StreamID) throws -> LiveStream? {
        guard let stream = directory[number], !stream.isTopic, !stream.isErased, stream.userName == user else {
            return try self.stream(of: user)
        }
        directory.setReference(of: number)
        return stream
    }

    /// The user's stream; nil for one who never had an event.
    mutating func stream(of user: UserName) throws -> LiveStream? {
        if let stream = directory[user] {
            directory.setReference(of: stream.number)
            return stream
        }
        let names = tables.derived.names
        guard let number = try snapshot().read({ try names.stream(of: user.text, in: $0) }) else {
            // A pseudonym is in no table: it names the stream itself.
            guard let erased = Pseudonym.stream(of: user.text), let stream = try stream(erased), stream.isErased else {
                return nil
            }
            return stream
        }
        return directory.insert(
            LiveStream(name: .user(user.text), identity: user.identity, number: number, isNamed: true))
    }

    /// The user's tray as it was answered last, if it is still so after the head.
    mutating func answeredTray(of user: UserName) -> Tray? {
        guard let stream = directory[user] else { return nil }
        directory.setReference(of: stream.number)
        return stream.answeredTray(asOf: head.seq, lastTopicEvent: tail.lastTopicEvent)
    }

    /// Notes the numbers of the streams of users who get an encoded `notify` of a range, absent for those that are not in memory.
    ///
    /// Asked for one after the other, with nothing else between them, the processor waits for several at once.
    mutating func findStreams(
        of prepared: borrowing PreparedCommands, _ range: Range<Int>, _ numbers: inout ContiguousArray<StreamID>
    ) {
        numbers.removeAll(keepingCapacity: true)
        for index in range {
            guard prepared.entries[index].isEncoded, let user = prepared.commands[index].user else {
                numbers.append(.absent)
                continue
            }
            numbers.append(directory.number(of: UserName(user, identity: prepared.entries[index].user)))
        }
        for number in numbers where number != .absent {
            directory.setReference(of: number)
            tail.prefetchEnd(of: number)
        }
        for number in numbers where number != .absent { tail.prefetchLast(of: number) }
    }

    /// The topic's stream; nil for one that never had an event.
    mutating func stream(ofTopic identity: Identity) throws -> LiveStream? {
        if let stream = directory[topic: identity] {
            directory.setReference(of: stream.number)
            return stream
        }
        guard let (number, root) = try snapshot().topic(identity) else { return nil }
        // A name is stored before the events, by a flush that did not end: the stream was in memory then.
        guard let root, root.name.isTopic else { throw PackedError.damaged("the state of a topic") }
        return directory.insert(LiveStream(name: root.name, identity: identity, number: number, isNamed: true))
    }

    /// The stream of a number, whosever it is; nil when the store holds none.
    mutating func stream(_ number: StreamID) throws -> LiveStream? {
        if let stream = directory[number] { return stream }
        let name: StreamName
        let first = tail.first(of: number)
        if first != 0 {
            name = try tables.log.events.streamName(of: first, in: snapshot())
        } else {
            guard let root = try snapshot().root(number) else { return nil }
            name = root.name
        }
        return directory.insert(LiveStream(name: name, identity: identity(of: name), number: number, isNamed: true))
    }

    /// A stream for somebody whose first event is about to be made.
    ///
    /// - Throws: ``Refusal`` `invalid` when the store can have no more streams.
    mutating func newStream(_ name: StreamName) throws(Refusal) -> LiveStream {
        let stream = try directory.add(name, identity: identity(of: name))
        stream.keys = knownKeys.ofNewStream
        return stream
    }

    func identity(of name: StreamName) -> Identity {
        hasher.identity(of: name.text, as: name.isTopic ? .topic : .user)
    }

    // MARK: Events

    /// Appends the event of a usual `notify` to the transaction in the making.
    ///
    /// - Parameters:
    ///   - stream: a user's.
    ///   - revision: what ``nextRevision(of:)`` said.
    mutating func append(_ fact: CompactFact, to stream: StreamID, revision: UInt32) {
        tail.append(fact, to: stream, revision: revision)
        if fact.key != .absent { knownKeys.insert(fact.key, of: tail) }
    }

    /// Appends an event to the transaction in the making.
    ///
    /// - Parameters:
    ///   - stream: absent for one of the store itself.
    ///   - revision: what ``nextRevision(of:)`` said; 0 for one of the store itself.
    mutating func append(_ fact: Fact, to stream: StreamID, revision: UInt32, topic: Identity? = nil) {
        tail.append(fact, to: stream, revision: revision, topic: topic)
        if fact.key != .absent { knownKeys.insert(fact.key, of: tail) }
    }

    /// Appends an event that is durable, and whose fact must be read from the log.
    ///
    /// - Parameters:
    ///   - head: the event, as the newest one.
    ///   - stream: absent for one of the store itself.
    mutating func appendDurable(
        _ head: EventLog.Head, to stream: StreamID = .absent, revision: UInt32 = 0, topic: Identity? = nil
    ) {
        knownKeys.noteUnread(head.seq)
        tail.appendUnread(to: stream, revision: revision, topic: topic)
        tail.publish(head)
    }

    /// Takes the events of the transaction in the making from `seq` on back, and the streams that they began.
    mutating func rollBack(to seq: UInt64) {
        tail.unlink(from: seq)
        while let newest = directory.newest, tail.last(of: newest.number) == 0 {
            states.set(nil, of: newest)
            directory.removeNewest()
        }
        // Folded anew from what is left of the transaction, when needed.
        states.dropPending()
    }

    /// Makes the events of the transaction the newest of the store: they are durable.
    mutating func publish(_ head: EventLog.Head) {
        tail.forEachPending { directory.forgetTray(of: $0) }
        tail.publish(head)
        directory.publish()
        states.publish()
    }

    /// Whose trays the events of the transaction in the making may change.
    var pendingTouched: Touched {
        var touched = Touched(topics: tail.hasPendingTopicEvents)
        tail.forEachPending { number in
            if let stream = directory[number] { touched.users.append(stream.identity) }
        }
        return touched
    }

    /// The events of a stream's chain from `seq` on that carry keys of an identity; nil when they have to be read from the log.
    ///
    /// - Complexity: O(1) for nearly all keys that no event of the tail has, else O(the chain).
    func carriers(of key: Identity, from seq: UInt64) -> LogTail.Carriers? {
        knownKeys.mayWait(key) ? tail.carriers(of: key, from: seq) : LogTail.Carriers()
    }

    /// Whether no event of the stream has the key; nearly always true of those that are new.
    func isNew(_ key: Identity, in stream: LiveStream) -> Bool { knownKeys.isNew(key, in: stream.keys) }

    /// Notes that a key was looked up in the stream's state, and that this went through so many waiting events.
    mutating func noteLookup(
        _ stream: LiveStream, _ keys: borrowing KeyIndex, looked: Int, load: (UInt64) throws -> KeyIndex.Page?
    ) throws {
        try knownKeys.noteLookup(&stream.keys, keys, load: load)
        // Folding them in has become cheaper than going on like this.
        if knownKeys.noteLooks(&stream.keys, looked), stream.states.pending == nil { _ = try current(stream) }
    }

    func fact(_ seq: UInt64) throws -> Fact {
        try tail.fact(seq) ?? snapshot().fact(seq)
    }

    // MARK: Storing

    /// The state of the stream is worth storing, whether it has new events or not.
    mutating func storeSoon(_ stream: LiveStream) { tail.store(stream.number) }

    mutating func noteRefolded(_ stream: LiveStream) {
        storeSoon(stream)
        refolded += 1
        hasRefolded = true
    }

    /// A batch stores this state of the stream.
    mutating func beginStoring(_ stream: LiveStream, _ state: borrowing TrayState) -> FlushBatch.State {
        states.beginStoring(stream, through: state.appliedSeq)
        return FlushBatch.State(of: stream, state, tail)
    }

    /// The stored state of a stream is this one.
    mutating func flushed(_ state: FlushBatch.State) {
        let revision = tail.flushed(state.stream, through: state.lastOwn, isNewest: state.isNewest)
        guard let stream = directory[state.stream] else { return }
        stream.mayBeStored = true
        if let revision { stream.storedRevision = revision }
        states.flushed(stream, through: state.appliedSeq)
    }

    /// A flush has ended: the stored states hold everything through the head of its start.
    mutating func endFlush(_ end: FlushEnd) {
        (record.states.through, record.states.nextStream, record.states.topics) = (end.head, end.nextStream, end.topics)
        hasRefolded = false
        tail.dropThrough(end.head)
        knownKeys.dropThrough(end.head)
        states.discard(directory.endNaming())
        states.noteEndOfFlush()
    }

    /// Lets go of states that nobody asked for lately, when they take too much memory.
    mutating func sweep() { states.sweep(&directory, tail: &tail) }

    /// Checks that its parts agree with each other, on behalf of tests.
    package func checkInvariants() {
        directory.checkInvariants()
        states.checkInvariants(directory)
        tail.checkInvariants()
        precondition(head.seq >= record.states.through && tail.first == record.states.through + 1, "the tail's start")
        for stream in directory.all {
            let committed = stream.states.committed?.state.events.last ?? 0
            precondition(committed <= head.seq, "a committed state has an event that is not durable")
            for last in [committed, stream.states.pending?.state.events.last ?? 0] {
                var seq = tail.first(of: stream.number)
                if last < seq { continue }
                while seq != 0, seq < last { seq = tail.next(after: seq) }
                precondition(seq == 0 || seq == last, "the state of stream \(stream.number) ends between its events")
            }
            checkRevision(of: stream)
        }
    }
}
