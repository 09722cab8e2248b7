/// A moment in milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
public struct Timestamp: RawRepresentable, Hashable, Comparable, Sendable {
    public var rawValue: Int64

    @inlinable
    public init(rawValue: Int64) { self.rawValue = rawValue }

    @inlinable
    public init(milliseconds: Int64) { rawValue = milliseconds }

    @inlinable
    public var milliseconds: Int64 { rawValue }

    @inlinable
    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.rawValue < right.rawValue }
}
