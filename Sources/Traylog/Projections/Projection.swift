import TraylogDomain

/// A fold of the caller's own over the log; the store keeps its value up to date and stored.
///
/// The value is what ``init()`` gives, after ``apply(_:)`` of every event once, in the order of the log. So the same
/// log always gives the same value, and whatever is stored of it can be thrown away and folded again.
///
/// ``Store/project(_:)`` starts one; ``TrayQueries/projected(_:)`` answers from any process.
public protocol Projection: Sendable {
    /// Names what is stored: 1 to 128 bytes of UTF-8 without control characters, once in a store.
    static var name: String { get }

    /// Raise it whenever ``apply(_:)`` or the encoding changes: what is stored under another version is not used, and
    /// the log is folded anew.
    static var version: UInt32 { get }

    /// The value before the first event.
    init()

    /// Takes in one more event.
    ///
    /// It must be a function of the value and the event alone: no clock, no chance, no input or output. It cannot fail:
    /// an event that means nothing here, or of a kind that is new, is passed over. It runs on a thread of the
    /// projection and has no business with the store. Calls to it work all the same, but what waits for this thread:
    /// ``Projector/value(through:)`` and ``Projector/rebuild()`` are refused, ``Projector/latest`` and
    /// ``Projector/progress`` end the process, and nothing that closes waits for this projection.
    ///
    /// Seqs ascend and may skip: an event whose payload was erased, or that compaction dropped, is not handed over.
    mutating func apply(_ event: Event)

    /// Everything that ``init(decoding:)`` needs to make an equal value; at most 64 MiB.
    ///
    /// Called at most about once a second, and less often when it takes long.
    func encoded() throws -> [UInt8]

    /// The value that ``encoded()`` was called on, in the same ``version``.
    ///
    /// What it throws counts as damage: the log is folded anew.
    init(decoding bytes: [UInt8]) throws
}
