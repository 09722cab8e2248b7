import TraylogDomain
import TraylogPlatform

/// The time as the client sees it.
///
/// Tests replace it, and wait for nothing.
public protocol DeviceClock: Sendable {
    /// The time by the device's clock, which may be wrong. It is claimed and shown, and decides nothing.
    var now: Timestamp { get }
    /// Milliseconds since some moment; never goes back.
    var uptime: Int64 { get }
    /// Returns when ``uptime`` has reached a value, or throws when the task is cancelled.
    func sleep(until uptime: Int64) async throws
}

/// The clocks of the system.
public struct SystemDeviceClock: DeviceClock {
    /// The system's clocks.
    public init() {}

    /// The time by the system's clock.
    public var now: Timestamp { Timestamp(milliseconds: SystemClock.nowMilliseconds()) }
    /// Milliseconds since the system started.
    public var uptime: Int64 { SystemClock.monotonicNanoseconds() / 1_000_000 }

    /// Waits without a thread.
    public func sleep(until uptime: Int64) async throws {
        try await Task.sleep(for: .milliseconds(max(0, uptime - self.uptime)))
    }
}
