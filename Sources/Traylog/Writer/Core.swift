import TraylogDomain
import TraylogLMDB
import TraylogPages
import TraylogLog

/// What the writing process knows beyond the file: states at hand, the tail, names that are not stored yet.
///
/// A value behind one lock. The writer changes it; readers of the same process look and let states catch up.
struct Core {
    let environment: Environment
    let tables: Tables
    let hasher: IdentityHasher
    let generation: Generation
    let cacheBytes: Int
    let landmarkDistance: UInt64
    let categoryNames = CategoryNames()
    /// What is read through in one turn of the lock.
    let turn = TurnSnapshot()
    /// The store's record as it was read or compacted last; how far states are stored, the core itself knows.
    var record: StoreRecord
    /// Stored states as they were right before it are not written over without being kept: the floor, or what is about
    /// to be one.
    var keptFloor: UInt64
    /// As long as the store is being copied: what changed meanwhile.
    var capture: CopyCapture?

    /// The newest durable event.
    var head: EventLog.Head
    var flushedThrough: UInt64
    var nextStream: UInt32
    /// Streams, and topics among them, that have durable events.
    var committedStreams: UInt64 = 0
    var committedTopics: UInt64 = 0
    var tail: Tail
    /// Streams with events that their stored state does not hold, or with states worth keeping.
    var unstored = StreamSet()
    /// Committed users and topics whose names are not in the table of names.
    var unnamed: [UserSlot] = []
    /// No event of any topic is newer.
    var lastTopicEvent: UInt64
    /// When the next item expires or wakes, at the earliest.
    var nextDue: Timestamp?
    /// Something that was due waits for its item to be restored.
    var hasWaitingDues = false
    /// How many damaged states were folded anew from the log.
    private(set) var refolded: UInt64 = 0
    /// Some of them are not stored yet.
    var hasRefolded = false
    private(set) var slots = StreamSlots()
    /// Streams with unstored events that nobody has asked for since the store was opened: they get their slots then.
    var sleeping = TailStreams()
    private var byName = SlotTable()
    private var topics: [UInt64: UserSlot] = [:]
    /// Trays outlive the slots of their users.
    var answers: AnsweredTrays
    var cachedBytes = 0
    /// Below it a sweep would find little: what was left by the last one waits to be stored.
    var nextSweepBytes = 0

    init(environment: Environment, tables: Tables, record: StoreRecord, head: EventLog.Head, cacheBytes: Int) {
        self.environment = environment
        self.tables = tables
        self.cacheBytes = cacheBytes
        answers = AnsweredTrays(bytes: cacheBytes / 4)
        self.head = head
        self.record = record
        keptFloor = record.floor.seq.rawValue
        hasher = record.hasher
        generation = record.generation
        landmarkDistance = record.landmarkDistance
        flushedThrough = record.flushedThrough
        nextStream = record.nextStream
        tail = Tail(first: record.flushedThrough + 1)
        lastTopicEvent = record.flushedThrough
    }

    // MARK: Users and topics

    /// The user's slot; nil for one who never had an event.
    mutating func slot(of user: String) throws -> UserSlot? {
        try slot(of: user, identity: hasher.identity(of: user, as: .user))
    }

    /// Where the slots of the next few commands' users are, as far as they are at hand.
    func places(of prepared: borrowing PreparedCommands, from index: Int) -> SlotPlaces {
        var places = SlotPlaces()
        byName.look(for: prepared.entries.span, from: index, &places)
        places.lookForKeys(of: prepared.entries.span, from: index, in: tail.keyFilter)
        return places
    }

    /// - Parameter place: a guess of where the slot is.
    mutating func slot(of user: String, identity: UInt64, at place: Int = -1) throws -> UserSlot? {
        if let slot = byName[user, identity, at: place] ?? byName[user, identity] {
            slot.isRecent = true
            return slot
        }
        let names = tables.names(generation)
        guard let stream = try snapshot().read({ try names.stream(of: user, in: $0) }) else {
            // A pseudonym is in no table: it names the stream itself.
            guard let erased = Pseudonym.stream(of: user), let slot = try loadSlot(erased), slot.name.isErased else {
                return nil
            }
            return slot
        }
        return insert(UserSlot(name: .user(user), identity: identity, stream: stream, isNamed: true))
    }

    /// The topic's slot; nil for one that never had an event.
    mutating func slot(ofTopic identity: UInt64) throws -> UserSlot? {
        if let slot = topics[identity] {
            slot.isRecent = true
            return slot
        }
        guard let (stream, root) = try snapshot().topic(identity) else { return nil }
        // A name is stored before the events, by a round that did not end: the slot was there then.
        guard let root, root.name.isTopic else { throw PackedError.damaged("the state of a topic") }
        return insert(UserSlot(name: root.name, identity: identity, stream: stream, isNamed: true))
    }

    /// The slot of a stream, whosever it is; nil when no state of it is stored.
    mutating func loadSlot(_ stream: UInt32) throws -> UserSlot? {
        if let slot = slots[stream] { return slot }
        guard let root = try snapshot().root(stream) else { return nil }
        return insert(
            UserSlot(name: root.name, identity: identity(of: root.name), stream: stream, isNamed: true))
    }

    /// A slot for somebody whose first event is about to be made.
    mutating func newSlot(for name: StreamName) -> UserSlot {
        defer { nextStream += 1 }
        let slot = newSlot(for: name, stream: nextStream, isNamed: false)
        slot.isCommitted = false
        slot.keysRound = tail.keyFilter.round
        return slot
    }

    mutating func newSlot(for name: StreamName, stream: UInt32, isNamed: Bool) -> UserSlot {
        insert(UserSlot(name: name, identity: identity(of: name), stream: stream, isNamed: isNamed))
    }

    private func identity(of name: StreamName) -> UInt64 {
        hasher.identity(of: name.text, as: name.isTopic ? .topic : .user)
    }

    private mutating func insert(_ slot: UserSlot) -> UserSlot {
        if let ends = sleeping.take(slot.stream) { (slot.firstUnstored, slot.lastUnstored) = ends }
        slots[slot.stream] = slot
        if slot.isTopic { topics[slot.identity] = slot } else if !slot.name.isErased { byName.insert(slot) }
        cachedBytes += Core.slotBytes
        return slot
    }

    mutating func remove(_ slot: UserSlot) {
        setCurrent(nil, of: slot)
        slots[slot.stream] = nil
        unstored.remove(slot.stream)
        if slot.isTopic { topics[slot.identity] = nil } else if !slot.name.isErased { byName.remove(slot) }
        cachedBytes -= Core.slotBytes
    }

    /// The same as ``slot(ofTopic:)`` as far as it is at hand.
    func loadedTopic(_ identity: UInt64) -> UserSlot? { topics[identity] }

    var allTopics: some Collection<UserSlot> { topics.values }

    /// Roughly what a slot takes in memory without its state.
    private static let slotBytes = 256

    func slot(_ stream: UInt32) -> UserSlot? { slots[stream] }

    /// The slot of a stream that has something to store.
    mutating func unstoredSlot(_ stream: UInt32) throws -> UserSlot? {
        if let slot = slots[stream] { return slot }
        guard let first = sleeping.first(of: stream) else { return nil }
        return newSlot(for: try tables.log.streamName(of: first, in: snapshot()), stream: stream, isNamed: true)
    }

    // MARK: States

    /// The user's state after the head, in the slot; loads it and lets it catch up as needed.
    mutating func current(_ slot: UserSlot) throws -> StateBox {
        try state(of: slot, through: head.seq)
    }

    /// The state as far as it was folded so far: events wait in the tail from ``StateBox/next`` on. Nil when the stored
    /// one is damaged.
    mutating func folded(_ slot: UserSlot) throws -> StateBox? {
        if let box = slot.current { return box }
        do {
            let box = try load(slot)
            setCurrent(box, of: slot)
            return box
        } catch PackedError.damaged {
            return nil
        }
    }

    /// The same as ``current(_:)``, only as far as the user's own events reach: later broadcasts wait until somebody looks.
    mutating func storable(_ slot: UserSlot) throws -> StateBox {
        try state(of: slot, through: min(slot.lastUnstored, head.seq))
    }

    private mutating func state(of slot: UserSlot, through seq: UInt64) throws -> StateBox {
        let box: StateBox
        do {
            box = try slot.current ?? load(slot)
        } catch PackedError.damaged {
            return try refold(slot)
        }
        if isBehind(box, through: seq) {
            do {
                try loadTopics(of: box.state, through: seq)
                try catchUp(box, of: slot, through: seq)
            } catch {
                // A half-folded state is of no use; the stored one and the tail make a new one.
                setCurrent(nil, of: slot)
                if case PackedError.damaged = error { return try refold(slot) }
                throw error
            }
            // What was reached with much folding is stored, so that nobody has to do it again.
            if !box.landmarks.isEmpty { unstored.insert(slot.stream) }
        } else if slot.current === box {
            return box
        }
        setCurrent(box, of: slot)
        return box
    }

    /// Whether events are missing in the state: the user's own, or of topics.
    func isBehind(_ box: StateBox, through seq: UInt64) -> Bool {
        if box.next != 0, box.next <= seq { return true }
        guard !box.state.topics.isEmpty, seq > box.topicsThrough, seq > box.state.appliedSeq else { return false }
        return lastTopicEvent > box.topicsThrough && lastTopicEvent > box.state.appliedSeq
    }

    /// Puts the states of topics at hand that a fold is about to ask for.
    private mutating func loadTopics(of state: TrayState, through seq: UInt64) throws {
        for subscription in state.topics where min(lastTopicEvent, seq) > state.appliedSeq {
            guard let topic = try slot(ofTopic: subscription.topic) else { continue }
            _ = try current(topic)
        }
    }

    /// Puts a state at hand, or takes it away, and keeps the cache's size right.
    mutating func setCurrent(_ box: StateBox?, of slot: UserSlot) {
        if let old = slot.current { cachedBytes -= old.countedBytes }
        slot.current = box
        guard let box else { return }
        box.countedBytes = box.byteCount
        cachedBytes += box.countedBytes
    }

    /// The stored state, with all that waits in the tail still to be applied.
    func load(_ slot: UserSlot) throws -> StateBox {
        let states = tables.states(generation)
        return try snapshot().read { transaction in
            let stored = try states.root(slot.stream, of: slot.name, isNew: !slot.isNamed, in: transaction)
            let box = StateBox(
                state: stored?.state ?? TrayState(landmarkDistance: landmarkDistance), next: slot.firstUnstored)
            try noteBases(stored?.state, stream: slot.stream, in: box, transaction)
            return box
        }
    }

    /// Folds a stream whose stored state is damaged from the log; the next flush stores it anew.
    ///
    /// - Complexity: O(log).
    mutating func refold(_ slot: UserSlot) throws -> StateBox {
        let folded = try LogFold.folded(
            slot.stream, through: head.seq, record: record, tables: tables, rows: snapshot())
        guard let folded else { throw PackedError.damaged("a stream without events") }
        let box = StateBox(state: folded.state, next: 0)
        if slot.lastUnstored > head.seq {
            // The transaction in the making goes on from there.
            var next = slot.firstUnstored
            while next != 0, next <= head.seq { next = tail.next(after: next) }
            box.next = next
        }
        box.topicsThrough = head.seq
        box.basesFloor = keptFloor
        setCurrent(box, of: slot)
        unstored.insert(slot.stream)
        refolded += 1
        hasRefolded = true
        return box
    }

    /// Brings up to date what the flush of a state has to keep of the stored one; the floor may have moved since it was
    /// loaded.
    func renewBases(of box: StateBox, stream: UInt32) throws {
        guard box.basesFloor != keptFloor else { return }
        let states = tables.states(generation)
        try snapshot().read { transaction in
            let stored: StoredState?
            do { stored = try states.root(stream, in: transaction) } catch PackedError.damaged { stored = nil }
            try noteBases(stored?.state, stream: stream, in: box, transaction)
        }
    }

    private func noteBases(
        _ stored: TrayState?, stream: UInt32, in box: StateBox, _ transaction: borrowing ReadTransaction
    ) throws {
        box.basesFloor = keptFloor
        box.bases = []
        guard keptFloor > 0, let stored else { return }
        for floor in Set([record.floor.seq.rawValue, keptFloor]) where stored.isBase(of: floor) {
            if try !tables.states(generation).hasBase(stream, at: floor, in: transaction) {
                box.bases.append((floor, stored))
            }
        }
    }

    /// Folds the stream's events in the tail through `seq` in, and those of its user's topics.
    func catchUp(_ box: StateBox, of slot: UserSlot, through seq: UInt64) throws {
        let source = try pages(of: slot.stream)
        var run = TailRun()
        // Nearly all events of nearly all users need nothing but the state.
        plain: while box.state.topics.isEmpty, box.next != 0, box.next <= seq {
            tail.read(&run, from: box.next, through: seq)
            for index in 0..<run.count {
                let seq = run.seqs[index]
                let compact = run.facts[index]
                let fact = compact.isWhole ? compact.fact(seq: seq, key: run.keys[index]) : try fact(seq)
                guard !fact.kind.needsHistory || slot.isTopic else { break plain }
                try box.state.apply(fact, stored: source)
                box.next = run.next(after: index)
                // By its field: asked as a whole, the state would be copied for each event.
                if box.state.lastLandmark == seq, !slot.isTopic { box.keep(box.state) }
            }
        }
        guard isBehind(box, through: seq) else { return }
        let history = CoreHistory(core: self, stored: source, landmarks: box.landmarks)
        box.next = try box.state.catchUp(
            own: box.next, through: seq, stored: source, history: history, next: { tail.next(after: $0) },
            landmark: { box.keep($0) })
        box.topicsThrough = min(seq, lastTopicEvent)
    }

    /// Lets go of all states at hand, because the floor has moved: what they say of the time before it, in landmarks and in
    /// their indexes of events, is not what is stored any more, and folds from there would need events that are gone.
    mutating func forgetStates() {
        for slot in slots.all where slot.current != nil { setCurrent(nil, of: slot) }
    }

    /// Forgets whose a stream was; what is stored of it says nothing any more.
    mutating func erase(_ stream: UInt32) {
        unnamed.removeAll { $0.stream == stream }
        categoryNames.forget()
        forgetTrays()
        if let slot = slots[stream] { return remove(slot) }
        _ = sleeping.take(stream)
        unstored.remove(stream)
    }

    func fact(_ seq: UInt64) throws -> Fact {
        if seq >= tail.first, let fact = tail.fact(seq) { return fact }
        return try snapshot().fact(seq)
    }
}

extension Core {
    /// Names of committed users that are not in the table of names.
    func unnamedUsers() -> [String] {
        slots.all.filter { !$0.isNamed && $0.isCommitted && !$0.isTopic }.map(\.user)
    }
}

extension EventKind {
    /// Whether folding it in, or what follows it, may need more than the state.
    var needsHistory: Bool { self == .undone || self == .subscribed }
}
