import TraylogDomain

/// A custom fold over the log.
///
/// The store keeps its value up to date, and stores it.
///
/// The value is ``init()`` with ``apply(_:)`` called for every event once, in the order of the log. Equal logs give equal
/// values, so a stored value can be thrown away and folded again.
///
/// ``Store/project(_:)`` starts one; ``TrayQueries/projected(_:)`` answers from any process.
public protocol Projection: Sendable {
    /// The name of the stored value, unique in a store: 1 to 128 bytes of UTF-8 without control characters.
    static var name: String { get }

    /// Raise it whenever ``apply(_:)`` or the encoding changes. A value stored under another version is not used; the log
    /// is folded again.
    static var version: UInt32 { get }

    /// The value before the first event.
    init()

    /// Takes in one more event.
    ///
    /// It must depend only on the value and the event: no clock, no random numbers, no input or output. It cannot fail;
    /// ignore events without a meaning here, and new kinds. It runs on the projection's thread and should not use the store.
    /// Calls that would wait for this thread do not work: `value(through:)` and `rebuild()` are
    /// refused, ``Projector/latest`` and ``Projector/progress`` end the process, and closing does not wait for this
    /// projection.
    ///
    /// Seqs ascend and may skip, because erased events and those that a compaction dropped are left out.
    mutating func apply(_ event: Event)

    /// Encodes the value for ``init(decoding:)``, in at most 64 MiB.
    ///
    /// Called at most about once a second, and less often when it takes long.
    func encoded() throws -> [UInt8]

    /// Decodes a value that ``encoded()`` encoded in the same ``version``.
    ///
    /// An error counts as damage: the log is folded again.
    init(decoding bytes: [UInt8]) throws
}
