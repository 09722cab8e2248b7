/// Time since it was made.
struct Stopwatch: Sendable {
    private let start = ContinuousClock.now

    var seconds: Double { start.duration(to: .now) / .seconds(1) }
    var milliseconds: Double { seconds * 1e3 }
    var microseconds: Double { seconds * 1e6 }

    /// Runs `body` twice over the same numbers, and gives the nanoseconds of one call in the second pass: the first one
    /// warms the caches.
    static func nanoseconds(_ count: Int, _ body: (Int) throws -> Void) rethrows -> Double {
        for index in 0..<count { try body(index) }
        let watch = Stopwatch()
        for index in 0..<count { try body(index) }
        return watch.seconds * 1e9 / Double(count)
    }
}
