/// The number of a stream, a user's or a topic's: 1, 2, 3 … in the order of their first events, without gaps.
@usableFromInline
package struct StreamID: Hashable, Comparable, Strideable, BitwiseCopyable, Sendable {
    @usableFromInline package let rawValue: UInt32

    @inlinable
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// No stream: what the events of the store itself have, and a user without events.
    @inlinable
    package static var absent: StreamID { StreamID(rawValue: 0) }

    /// The first stream of a store.
    @inlinable
    package static var first: StreamID { StreamID(rawValue: 1) }

    /// One more than any stream has; far from an overflow, so that it may end a range.
    @inlinable
    package static var highest: StreamID { StreamID(rawValue: 1 << 31 - 1) }

    /// The one after it.
    @inlinable
    package var next: StreamID { advanced(by: 1) }

    @inlinable
    package static func < (left: StreamID, right: StreamID) -> Bool { left.rawValue < right.rawValue }

    @inlinable
    package func distance(to other: StreamID) -> Int { Int(other.rawValue) - Int(rawValue) }

    /// Traps below 0 and above what a number of 32 bits can say.
    @inlinable
    package func advanced(by distance: Int) -> StreamID { StreamID(rawValue: UInt32(Int(rawValue) + distance)) }
}

extension StreamID: CustomStringConvertible {
    @inlinable package var description: String { String(rawValue) }
}
