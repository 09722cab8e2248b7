import TraylogDomain

/// What an erasure did.
public struct ErasureReport: Hashable, Sendable {
    /// The `erased` event; nil when there is nobody of that name.
    public var seq: Seq?
    /// What the user is called from now on, in `history`.
    public var pseudonym: String?
    /// How many events of the log lost what they said.
    public var events: UInt64 = 0
    /// Archives that were written anew.
    public var archives: [String] = []

    public init() {}
}
