import TraylogDomain
import TraylogLMDB
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

    /// The newest durable event.
    var head: EventLog.Head
    var flushedThrough: UInt64
    var nextStream: UInt32
    var tail: Tail
    /// Users with events that their stored state does not hold.
    var unstored = StreamSet()
    /// Committed users whose names are not in the table of names.
    var unnamed: [UserSlot] = []
    private(set) var slots = StreamSlots()
    private var byName = SlotTable()
    var cachedBytes = 0

    init(environment: Environment, tables: Tables, record: StoreRecord, head: EventLog.Head, cacheBytes: Int) {
        self.environment = environment
        self.tables = tables
        self.cacheBytes = cacheBytes
        self.head = head
        hasher = record.hasher
        generation = record.generation
        flushedThrough = record.flushedThrough
        nextStream = record.nextStream
        tail = Tail(first: record.flushedThrough + 1)
    }

    // MARK: Users

    /// The user's slot; nil for one who never had an event.
    mutating func slot(of user: String) throws -> UserSlot? {
        try slot(of: user, identity: hasher.identity(of: user, as: .user))
    }

    /// Where the slots of the next few commands' users are, as far as they are at hand.
    func places(of prepared: borrowing PreparedCommands, from index: Int) -> SlotPlaces {
        var places = SlotPlaces()
        byName.look(for: prepared.entries.span, from: index, &places)
        return places
    }

    /// - Parameter place: a guess of where the slot is.
    mutating func slot(of user: String, identity: UInt64, at place: Int = -1) throws -> UserSlot? {
        if let slot = byName[user, identity, at: place] ?? byName[user, identity] {
            slot.isRecent = true
            return slot
        }
        let names = tables.names(generation)
        guard let stream = try environment.read({ try names.stream(of: user, in: $0) }) else { return nil }
        return insert(UserSlot(user: user, identity: identity, stream: stream, isNamed: true))
    }

    /// A slot for somebody whose first event is about to be made.
    mutating func newSlot(for user: String) -> UserSlot {
        defer { nextStream += 1 }
        let slot = newSlot(for: user, stream: nextStream, isNamed: false)
        slot.isCommitted = false
        return slot
    }

    mutating func newSlot(for user: String, stream: UInt32, isNamed: Bool) -> UserSlot {
        let identity = hasher.identity(of: user, as: .user)
        return insert(UserSlot(user: user, identity: identity, stream: stream, isNamed: isNamed))
    }

    private mutating func insert(_ slot: UserSlot) -> UserSlot {
        slots[slot.stream] = slot
        byName.insert(slot)
        cachedBytes += Core.slotBytes
        return slot
    }

    mutating func remove(_ slot: UserSlot) {
        setCurrent(nil, of: slot)
        slots[slot.stream] = nil
        byName.remove(slot)
        cachedBytes -= Core.slotBytes
    }

    /// Roughly what a slot takes in memory without its state.
    private static let slotBytes = 256

    func slot(_ stream: UInt32) -> UserSlot? { slots[stream] }

    // MARK: States

    /// The user's state after the head, in the slot; loads it and lets it catch up as needed.
    mutating func current(_ slot: UserSlot) throws -> StateBox {
        let box = try slot.current ?? load(slot)
        if box.next != 0, box.next <= head.seq {
            do {
                try catchUp(box, of: slot, through: head.seq)
            } catch {
                // A half-folded state is of no use; the stored one and the tail make a new one.
                setCurrent(nil, of: slot)
                throw error
            }
        } else if slot.current === box {
            return box
        }
        setCurrent(box, of: slot)
        return box
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
        let stored = try environment.read { try states.root(slot.stream, of: slot.user, in: $0) }
        return StateBox(state: stored?.state ?? TrayState(), next: slot.firstUnstored)
    }

    /// Folds the user's events in the tail through `seq` in.
    func catchUp(_ box: StateBox, of slot: UserSlot, through seq: UInt64) throws {
        let source = pages(of: slot.stream, limit: box.state.appliedSeq)
        var run = TailRun()
        while box.next != 0, box.next <= seq {
            tail.read(&run, from: box.next, through: seq)
            for index in 0..<run.count {
                let seq = run.seqs[index]
                let compact = run.facts[index]
                let fact = compact.isWhole ? compact.fact(seq: seq) : try tail.fact(seq) ?? fact(seq)
                try box.state.apply(fact, stored: source)
                box.next = run.next(after: index)
            }
        }
    }

    func pages(of stream: UInt32, limit: UInt64) -> StoredPages {
        StoredPages(
            environment: environment, tables: tables, generation: generation, stream: stream, limit: limit,
            isShared: false)
    }

    private func fact(_ seq: UInt64) throws -> Fact {
        let fact = try environment.read { try tables.log.fact(seq, hasher: hasher, in: $0) }
        guard let fact else { throw CodecError(.damaged, seq: seq, "it is missing from the log") }
        return fact
    }

    /// Lets go of states at hand that nobody asked for lately, when they take too much memory.
    ///
    /// - Complexity: O(users at hand), after that many were loaded anew.
    mutating func sweepCache() {
        guard cachedBytes > cacheBytes else { return }
        // The first round forgets who was recent; only a second one may find nobody else.
        for _ in 0..<2 {
            for slot in slots.all where cachedBytes > cacheBytes * 3 / 4 {
                guard slot.working == nil else { continue }
                if slot.isRecent {
                    slot.isRecent = false
                } else if slot.isDisposable {
                    remove(slot)
                } else {
                    setCurrent(nil, of: slot)
                }
            }
            if cachedBytes <= cacheBytes { return }
        }
    }
}

extension Core {
    /// Names of committed users that are not in the table of names.
    func unnamedUsers() -> [String] {
        slots.all.filter { !$0.isNamed && $0.isCommitted }.map(\.user)
    }
}
