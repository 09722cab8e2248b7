import TraylogDomain

/// The fact of a `notify` with nothing unusual, as most are, in a third of the memory.
///
/// The tail holds hundreds of thousands of facts, and looking at them again waits for memory more than for anything
/// else.
struct CompactFact: BitwiseCopyable, Sendable {
    private var thread: UInt64
    private var category: UInt64
    private var argument: UInt64
    /// The identity of the event's key; 0 for none.
    let key: UInt64
    private var summaryCount: UInt32
    private var isSilent: Bool
    /// Whether it is a fact at all, and not a place in ``LogTail/others``, or nothing.
    let isWhole: Bool

    /// Nil when `fact` says more than there is room for.
    init?(_ fact: borrowing Fact) {
        thread = fact.thread
        category = fact.category
        argument = fact.argument
        key = fact.key
        summaryCount = fact.summaryCount
        isSilent = fact.isSilent
        isWhole = true
        // Nothing else is set in the fact of a `notify`.
        guard fact.kind == .notified, fact.collapse == 0 else { return nil }
        assert(self.fact(seq: fact.seq) == copy fact, "a field was forgotten")
    }

    /// Stands for a fact that is kept elsewhere.
    init(place: UInt64, key: UInt64 = 0) {
        thread = place
        self.key = key
        category = 0
        argument = 0
        summaryCount = 0
        isSilent = false
        isWhole = false
    }

    /// Stands for one that nobody has read yet.
    static let unread = CompactFact(place: .max)

    var isUnread: Bool { !isWhole && place == .max }

    /// Whether it is in ``LogTail/others``.
    var isElsewhere: Bool { !isWhole && place != .max }

    /// Where the fact is kept when it is not here.
    var place: UInt64 { thread }

    @inline(__always)
    func fact(seq: UInt64) -> Fact {
        var fact = Fact(seq: seq, kind: .notified)
        fact.key = key
        fact.isSilent = isSilent
        fact.summaryCount = summaryCount
        fact.thread = thread
        fact.category = category
        fact.argument = argument
        return fact
    }
}
