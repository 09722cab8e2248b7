import TraylogDomain

/// The fact of a `notify` with nothing unusual, as most are, in a third of the memory.
///
/// It has no revision; ``LogTail`` keeps that.
///
/// The tail holds hundreds of thousands of facts, and looking at them again waits for memory more than for anything
/// else.
struct CompactFact: BitwiseCopyable, Sendable {
    /// The thread's identity, or ``place``.
    private var threadOrPlace: UInt64
    private var category: Identity
    private var argument: Identity
    let key: Identity
    private var summaryCount: UInt32
    private var isSilent: Bool
    private var isCritical: Bool
    /// Whether it is a fact at all, and not a place in ``LogTail/others``, or nothing.
    let isWhole: Bool

    /// Nil when `fact` says more than there is room for.
    init?(_ fact: borrowing Fact) {
        threadOrPlace = fact.thread.rawValue
        category = fact.category
        argument = fact.argument
        key = fact.key
        summaryCount = fact.summaryCount
        isSilent = fact.isSilent
        isCritical = fact.isCritical
        isWhole = true
        // Nothing else is set in the fact of a `notify`.
        guard fact.kind == .notified, fact.collapse == .absent, !fact.hasActions, !fact.reminds, !fact.isScheduled
        else {
            return nil
        }
        assert(says(fact), "a field was forgotten")
    }

    private func says(_ fact: borrowing Fact) -> Bool {
        var uncounted = copy fact
        uncounted.revision = 0
        return self.fact(seq: fact.seq) == uncounted
    }

    /// Stands for a fact that is kept elsewhere.
    init(place: UInt64, key: Identity = .absent) {
        threadOrPlace = place
        self.key = key
        category = .absent
        argument = .absent
        summaryCount = 0
        isSilent = false
        isCritical = false
        isWhole = false
    }

    /// Stands for one that nobody has read yet.
    static let unread = CompactFact(place: .max)

    var isUnread: Bool { !isWhole && place == .max }

    /// Whether it is in ``LogTail/others``.
    var isElsewhere: Bool { !isWhole && place != .max }

    /// Where the fact is kept when it is not here.
    var place: UInt64 { threadOrPlace }

    @inline(__always)
    func fact(seq: UInt64) -> Fact {
        var fact = Fact(seq: seq, kind: .notified)
        fact.key = key
        fact.isSilent = isSilent
        fact.isCritical = isCritical
        fact.summaryCount = summaryCount
        fact.thread = Identity(rawValue: threadOrPlace)
        fact.category = category
        fact.argument = argument
        return fact
    }
}
