/// Stands for a string that is only compared: a thread, a category, a key, a topic, a user (``IdentityHasher``).
///
/// Identities are random numbers: their order only sorts them.
@usableFromInline
package struct Identity: Hashable, Comparable, BitwiseCopyable, Sendable {
    @usableFromInline package let rawValue: UInt64

    @inlinable
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The identity of no string.
    @inlinable
    package static var absent: Identity { Identity(rawValue: 0) }

    @inlinable
    package static func < (left: Identity, right: Identity) -> Bool { left.rawValue < right.rawValue }
}
