/// The pauses between attempts at what fails: each is twice as long as the one before, up to a longest one.
@_spi(Operations) public struct Backoff: Sendable {
    private let first: Duration
    private let longest: Duration
    private var next: Duration
    /// How many attempts have failed since the last ``reset()``.
    public private(set) var failures = 0

    /// - Parameter first: more than zero.
    public init(from first: Duration, to longest: Duration) {
        (self.first, self.longest, next) = (first, longest, first)
    }

    /// Counts a failure, and returns how long to wait before the next attempt.
    public mutating func pause() -> Duration {
        defer { (next, failures) = (min(next * 2, longest), failures &+ 1) }
        return next
    }

    /// Begins again, after an attempt that succeeded.
    public mutating func reset() { (next, failures) = (first, 0) }
}
