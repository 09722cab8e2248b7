import TraylogDomain

/// What the writing process holds of one stream, a user's or a topic's: the number, and as much of the state as is at
/// hand.
///
/// A topic's state is the tray of somebody who always was subscribed and never did anything. Guarded by the lock of
/// ``Core``.
final class UserSlot {
    // What appends look at comes first, so that it shares as few lines of memory as can be.
    /// The user's name; of a topic, the topic's.
    let user: String
    /// The name's, for ``SlotTable``; of a topic, what states know it by.
    let identity: UInt64
    let stream: UInt32
    /// Nothing is appended any more.
    let isErased: Bool
    /// Whether the name is in the table of names.
    var isNamed: Bool
    /// Whether ``AnsweredTrays`` may know the user's tray, also from a slot before this one.
    var mayBeAnswered: Bool
    /// Whether any event of the user is durable.
    var isCommitted = true
    /// Whether anybody asked for it since the cache was swept last.
    var isRecent = true
    /// The user's oldest and newest event that the stored state does not hold; 0 when there is none.
    var firstUnstored: UInt64 = 0
    var lastUnstored: UInt64 = 0
    /// The round of ``KeyFilter`` in which all keys of the stream were put into it; 0 for none.
    var keysRound: UInt32 = 0
    /// The state after the last commit, but for events that wait in the tail.
    var current: StateBox?
    /// The state with the events of the transaction that is being made; becomes ``current`` with its commit.
    var working: StateBox?
    let name: StreamName
    /// How many keys were looked up in the stream's state.
    var keyLookups: UInt32 = 0
    /// At how many waiting events these looked.
    var looks = 0

    init(name: StreamName, identity: UInt64, stream: UInt32, isNamed: Bool) {
        self.name = name
        user = name.text
        self.identity = identity
        isErased = name.isErased
        self.stream = stream
        self.isNamed = isNamed
        mayBeAnswered = !name.isTopic
    }

    var isTopic: Bool { name.isTopic }

    /// The key of its row in the table of names.
    var nameKey: [UInt8] { isTopic ? NameTable.key(topic: identity) : NameTable.key(user: user) }

    /// Nothing would be lost with the slot.
    var isDisposable: Bool { firstUnstored == 0 && working == nil && isNamed }
}

/// A state and how far it followed its user's events in the tail.
final class StateBox {
    var state: TrayState
    /// The user's next event that the state does not hold; 0 when it holds all.
    var next: UInt64
    /// Events of topics up to this one were looked for.
    var topicsThrough: UInt64 = 0
    /// States worth keeping that are not stored yet, ascending.
    var landmarks: [TrayState] = []
    /// The stored state, where it is what the stream was right before a floor and no row says so yet, and the floor.
    var bases: [(floor: UInt64, state: TrayState)] = []
    /// The floor as of which that is known.
    var basesFloor: UInt64 = 0
    /// What the cache counts it as.
    var countedBytes = 0

    init(state: TrayState, next: UInt64) {
        self.state = state
        self.next = next
    }

    func copy() -> StateBox {
        let copy = StateBox(state: state, next: next)
        copy.topicsThrough = topicsThrough
        copy.landmarks = landmarks
        copy.bases = bases
        copy.basesFloor = basesFloor
        return copy
    }

    func keep(_ landmark: borrowing TrayState) {
        if landmarks.last?.appliedSeq ?? 0 < landmark.appliedSeq { landmarks.append(copy landmark) }
    }

    /// Lets go of what was stored when the state had applied `seq`.
    func forget(storedThrough seq: UInt64) {
        state.forgetPages(storedThrough: seq)
        if !landmarks.isEmpty { landmarks.removeAll { $0.appliedSeq <= seq } }
        bases = []
    }

    /// Roughly what it takes in memory.
    var byteCount: Int {
        640 + state.tail.entries.capacity * MemoryLayout<ItemEntry>.stride
            + state.pages.count * (TrayState.sealedEntries * MemoryLayout<ItemEntry>.stride)
            + state.events.open.packed.capacity + state.events.sealed.count * 600
            + (state.keys.recent.capacity + state.collapseKeys.recent.capacity) * 16
            + (state.keys.pages.count + state.collapseKeys.pages.count) * 2_048 + landmarks.count * 8_192
    }
}
