import TraylogDomain
import TraylogLog
import TraylogStates

/// The states of streams in memory: how much room they take, and which of them hold events that are not durable yet.
struct StateCache {
    /// The states of one stream in memory.
    struct OfStream {
        /// The state after the last commit, but for events that wait in the tail.
        fileprivate(set) var committed: CachedState?
        /// The same with the events of the transaction in the making; becomes ``committed`` with its commit.
        fileprivate(set) var pending: CachedState?

        /// The newest one.
        var newest: CachedState? { pending ?? committed }
    }

    /// Room for states and streams, in bytes, as far as they can be stored.
    let limit: Int
    /// Storing more changed pages of a state at once would make others wait.
    private let heavyPages: Int
    /// Streams with committed states.
    private var inMemory = StreamSet()
    /// The memory that the committed states take.
    private(set) var byteCount = 0
    /// Below it a sweep would find little: what was left by the last one waits to be stored.
    private var nextSweep = 0
    /// The stream that the next sweep begins with.
    private var clockHand = StreamID.absent
    /// How often it passed all of them since it found something.
    private var vainPasses = 0
    /// One sweep looks at no more streams than these, and lets go of no more than those: a millisecond each.
    private static let mostSwept = 16_384
    private static let mostRemoved = 4_096
    /// Streams with pending states.
    private var pending: [LiveStream] = []
    /// The newest events of states in batches that are not published.
    private var storing: [StreamID: UInt64] = [:]
    /// Streams whose committed states have much that is not stored.
    ///
    /// Storing it at once is better than all of it at the end of a flush: others would wait for that.
    private(set) var heavy: Set<StreamID> = []
    /// Values that take milliseconds to let go of; the flush thread does so without the lock.
    private var discarded: [any Sendable] = []

    init(limit: Int, heavyPages: Int) {
        self.limit = limit
        self.heavyPages = heavyPages
    }

    /// Keeps a committed state, or lets it go if it is older than the one a batch is storing; nil keeps none.
    mutating func set(_ state: CachedState?, of stream: LiveStream) {
        let isOld = !storing.isEmpty && state?.state.appliedSeq ?? .max < storing[stream.number] ?? 0
        let state = isOld ? nil : state
        if let old = stream.states.committed { byteCount -= old.countedBytes }
        stream.states.committed = state
        let isHeavy = state?.changedPages ?? 0 > heavyPages
        if isHeavy { heavy.insert(stream.number) } else if !heavy.isEmpty { heavy.remove(stream.number) }
        guard let state else { return inMemory.remove(stream.number) }
        inMemory.insert(stream.number)
        state.countedBytes = state.byteCount
        byteCount += state.countedBytes
    }

    // MARK: The transaction in the making

    /// Keeps the state as of the transaction in the making.
    mutating func setPending(_ state: CachedState, of stream: LiveStream) {
        if stream.states.pending == nil { pending.append(stream) }
        stream.states.pending = state
    }

    /// Lets go of all pending states: they are folded anew where they are needed.
    mutating func dropPending() {
        for stream in pending { stream.states.pending = nil }
        pending.removeAll(keepingCapacity: true)
    }

    /// Makes all pending states committed ones.
    mutating func publish() {
        for stream in pending {
            guard let state = stream.states.pending else { continue }
            stream.states.pending = nil
            set(state, of: stream)
        }
        pending.removeAll(keepingCapacity: true)
    }

    // MARK: Storing

    /// A batch stores the stream's state as it was after `seq`.
    ///
    /// Once it is in the file, and before it is published, an older state would miss pages that it replaced.
    mutating func beginStoring(_ stream: LiveStream, through seq: UInt64) {
        storing[stream.number] = seq
        if let state = stream.states.committed, state.state.appliedSeq < seq { set(nil, of: stream) }
    }

    /// The batches that are not published will not be written.
    mutating func giveUpStoring() { storing.removeAll(keepingCapacity: true) }

    /// The stored state of the stream is the one that had applied `seq`.
    mutating func flushed(_ stream: LiveStream, through seq: UInt64) {
        storing[stream.number] = nil
        guard let state = stream.states.committed else { return }
        if state.changedPages > heavyPages { discard((state.state, state.landmarks)) }
        state.forget(storedThrough: seq)
        heavy.remove(stream.number)
    }

    // MARK: Letting go

    /// Lets go of a value later, without the lock.
    mutating func discard(_ value: some Sendable) { discarded.append(value) }

    var hasDiscarded: Bool { !discarded.isEmpty }

    mutating func takeDiscarded() -> [any Sendable] {
        defer { discarded = [] }
        return discarded
    }

    // MARK: Making room

    /// A flush has ended: a sweep finds more.
    mutating func noteEndOfFlush() { (nextSweep, vainPasses) = (0, 0) }

    /// Lets go of some states that nobody asked for lately, when all take too much memory; and of their streams, but for those
    /// with events or a name that are not stored.
    ///
    /// It goes on where it ended the last time, so that nobody waits for a look at all streams.
    mutating func sweep(_ directory: inout StreamDirectory, tail: inout LogTail) {
        let excess = used(directory) - max(limit, nextSweep)
        guard excess > 0 else { return }
        var removed = 0
        for _ in 0..<min(max(256, 4 * excess / LiveStream.leastBytes), Self.mostSwept)
        where used(directory) > limit && removed < Self.mostRemoved {
            guard let number = directory.next(from: clockHand) else {
                (clockHand, vainPasses) = (.absent, vainPasses + 1)
                // The first pass forgets who was recent; only a second one may find nobody else.
                if vainPasses < 2 { continue }
                vainPasses = 0
                return nextSweep = used(directory) + limit / 4
            }
            clockHand = number.next
            if directory.testAndClearReference(of: number) { continue }
            // Nearly all of those that stay are not looked at themselves, which would mean to wait for their memory.
            let mayGo = tail.last(of: number) == 0
            guard mayGo || inMemory.contains(number), let stream = directory[number] else { continue }
            let before = used(directory)
            set(nil, of: stream)
            if mayGo, stream.isNamed {
                tail.forget(number)
                directory.remove(stream)
                removed += 1
            }
            if used(directory) < before { vainPasses = 0 }
        }
    }

    private func used(_ directory: borrowing StreamDirectory) -> Int {
        byteCount + directory.byteCount
    }

    /// Checks that its parts agree with each other.
    func checkInvariants(_ directory: borrowing StreamDirectory) {
        let streams = directory.all
        let counted = streams.reduce(0) { $0 + ($1.states.committed?.countedBytes ?? 0) }
        precondition(counted == byteCount, "\(byteCount) bytes of states, not \(counted)")
        for stream in streams {
            let isInMemory = stream.states.committed != nil
            precondition(inMemory.contains(stream.number) == isInMemory, "the state of stream \(stream.number)")
            let isOld = stream.states.committed?.state.appliedSeq ?? .max < storing[stream.number] ?? 0
            precondition(!isOld, "the state of stream \(stream.number) is older than what a batch stores")
        }
        let waiting = Set(pending.map(\.number))
        for stream in streams where stream.states.pending != nil {
            precondition(waiting.contains(stream.number), "a pending state that nobody would publish")
        }
    }
}

/// A state in memory, and how far it has looked for events of its topics.
final class CachedState {
    var state: TrayState
    /// Events of topics up to this one were looked for.
    var topicsThrough: UInt64 = 0
    /// The newest event of the stored root that it was loaded from, or that was stored of it last: pages that changed
    /// since are in the state, and all others are read as they were then.
    var storedThrough: UInt64 = 0
    /// Whether it was folded anew from the log, because the stored one is damaged.
    var isRefolded = false
    /// Whether that is still what is stored.
    var isStoredDamaged = false
    /// No event of its topics after the state's last one comes before this one.
    var looked: UInt64 { max(topicsThrough, state.appliedSeq) }
    /// States worth keeping that are not stored yet, ascending.
    var landmarks: [TrayState] = []
    /// The bytes that the cache counts for it.
    fileprivate var countedBytes = 0

    init(state: TrayState, storedThrough: UInt64 = 0) {
        self.state = state
        self.storedThrough = storedThrough
    }

    func copy() -> CachedState {
        let copy = CachedState(state: state)
        copy.topicsThrough = topicsThrough
        (copy.storedThrough, copy.isRefolded, copy.isStoredDamaged) = (storedThrough, isRefolded, isStoredDamaged)
        copy.landmarks = landmarks
        return copy
    }

    func keep(_ landmark: borrowing TrayState) {
        if landmarks.last?.appliedSeq ?? 0 < landmark.appliedSeq { landmarks.append(copy landmark) }
    }

    /// Whether storing it takes more than its pages and its root: others may be in the file already.
    var hasPast: Bool { isStoredDamaged || !landmarks.isEmpty || hasEnds || (storedThrough > 0 && hasChangedPages) }

    // All of `TrayState.keyIndexes`, by the state's fields: a key path would copy the state.

    private var hasEnds: Bool {
        !state.obsoletePages.isEmpty || !state.keys.obsolete.isEmpty || !state.collapseKeys.obsolete.isEmpty
            || !state.tallies.obsolete.isEmpty || !state.moved.obsolete.isEmpty || !state.voided.obsolete.isEmpty
    }

    private var hasChangedPages: Bool {
        !state.pages.isEmpty || !state.keys.pages.isEmpty || !state.collapseKeys.pages.isEmpty
            || !state.tallies.pages.isEmpty || !state.moved.pages.isEmpty || !state.voided.pages.isEmpty
    }

    /// Lets go of what was stored when the state had applied `seq`.
    fileprivate func forget(storedThrough seq: UInt64) {
        state.forgetPages(storedThrough: seq)
        (storedThrough, isStoredDamaged) = (seq, false)
        if !landmarks.isEmpty { landmarks.removeAll { $0.appliedSeq <= seq } }
    }

    /// Roughly how many pages, and rows of their size, are not stored.
    var changedPages: Int {
        let inRoot = state.categories.count + state.topics.count + state.mutes.count
        return state.pages.count + state.keys.pages.count + state.collapseKeys.pages.count + state.moved.pages.count
            + state.voided.pages.count + state.tallies.pages.count + landmarks.count * (1 + inRoot / 32)
    }

    /// Roughly what it takes in memory.
    var byteCount: Int {
        640 + state.tail.entries.capacity * MemoryLayout<ItemEntry>.stride
            + state.pages.count * (TrayState.sealedEntries * MemoryLayout<ItemEntry>.stride)
            + state.events.open.packed.capacity + state.events.sealed.count * 600
            + (state.keys.recent.capacity + state.collapseKeys.recent.capacity) * 16
            + (state.keys.pages.count + state.collapseKeys.pages.count + state.moved.pages.count
                + state.voided.pages.count + state.tallies.pages.count) * 2_048 + landmarks.count * 8_192
    }
}
