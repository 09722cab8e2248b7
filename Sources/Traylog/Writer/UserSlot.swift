import TraylogDomain

/// What the writing process holds of one user: the number, and as much of the state as is at hand.
///
/// Guarded by the lock of ``Core``.
final class UserSlot {
    // What every append looks at comes first, so that it shares as few lines of memory as can be.
    let user: String
    /// The name's, for ``SlotTable``.
    let identity: UInt64
    let stream: UInt32
    /// Whether the name is in the table of names.
    var isNamed: Bool
    /// Whether any event of the user is durable.
    var isCommitted = true
    /// Whether anybody asked for it since the cache was swept last.
    var isRecent = true
    /// The user's oldest and newest event that the stored state does not hold; 0 when there is none.
    var firstUnstored: UInt64 = 0
    var lastUnstored: UInt64 = 0
    /// The state after the last commit, but for events that wait in the tail.
    var current: StateBox?
    /// The state with the events of the transaction that is being made; becomes ``current`` with its commit.
    var working: StateBox?

    init(user: String, identity: UInt64, stream: UInt32, isNamed: Bool) {
        self.user = user
        self.identity = identity
        self.stream = stream
        self.isNamed = isNamed
    }

    /// Nothing would be lost with the slot.
    var isDisposable: Bool { firstUnstored == 0 && working == nil && isNamed }
}

/// A state and how far it followed its user's events in the tail.
final class StateBox {
    var state: TrayState
    /// The user's next event that the state does not hold; 0 when it holds all.
    var next: UInt64
    /// What the cache counts it as.
    var countedBytes = 0

    init(state: TrayState, next: UInt64) {
        self.state = state
        self.next = next
    }

    func copy() -> StateBox { StateBox(state: state, next: next) }

    /// Roughly what it takes in memory.
    var byteCount: Int {
        512 + state.tail.entries.capacity * MemoryLayout<ItemEntry>.stride
            + state.pages.count * (TrayState.sealedEntries * MemoryLayout<ItemEntry>.stride)
            + state.events.open.packed.capacity + state.events.sealed.count * 600
            + (state.keys.recent.capacity + state.collapseKeys.recent.capacity) * 16
            + (state.keys.pages.count + state.collapseKeys.pages.count) * 2_048
    }
}
