/// The number of an event in the log: 1, 2, 3 … in commit order, without gaps, for the whole store.
///
/// An item's id is the seq of the event that brought it, and its position in the inbox is a seq, too.
public struct Seq: RawRepresentable, Hashable, Comparable, Sendable, ExpressibleByIntegerLiteral {
    public var rawValue: UInt64

    @inlinable
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    @inlinable
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    @inlinable
    public init(integerLiteral value: UInt64) { rawValue = value }

    /// The head of an empty store: before every event.
    public static let zero = Seq(0)

    /// What a file may say at most, so that sums with it do not overflow: a million events a second for 2,000 years.
    package static let highest: UInt64 = (1 << 56) - 1

    @inlinable
    public static func < (left: Seq, right: Seq) -> Bool { left.rawValue < right.rawValue }
}

extension Seq: CustomStringConvertible {
    public var description: String { String(rawValue) }
}
