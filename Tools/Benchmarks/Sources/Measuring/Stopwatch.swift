import Foundation

/// Time since it was made; of the processor where ``variable`` is set.
struct Stopwatch: Sendable {
    static let variable = "TRAYLOG_BENCH_CPU_TIME"
    private static let clock =
        ProcessInfo.processInfo.environment[variable] == nil ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID

    private let start = Stopwatch.now(clock)

    var seconds: Double { Self.now(Self.clock) - start }
    var milliseconds: Double { seconds * 1e3 }
    var microseconds: Double { seconds * 1e6 }

    /// Seconds of processor time since the process began, of all its threads.
    static var processorSeconds: Double { now(CLOCK_PROCESS_CPUTIME_ID) }

    private static func now(_ clock: clockid_t) -> Double {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }

    /// Runs `body` twice over the same numbers, and gives the nanoseconds of one call in the second pass: the first one
    /// warms the caches.
    static func nanoseconds(_ count: Int, _ body: (Int) throws -> Void) rethrows -> Double {
        for index in 0..<count { try body(index) }
        let watch = Stopwatch()
        for index in 0..<count { try body(index) }
        return watch.seconds * 1e9 / Double(count)
    }
}
