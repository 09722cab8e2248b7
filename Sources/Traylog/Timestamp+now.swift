import TraylogDomain
import TraylogPlatform

extension Timestamp {
    /// The present, by the system's clock.
    public static var now: Timestamp { Timestamp(milliseconds: SystemClock.nowMilliseconds()) }
}
