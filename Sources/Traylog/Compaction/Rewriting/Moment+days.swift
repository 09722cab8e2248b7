import TraylogDomain
import TraylogPlatform

extension Moment {
    /// The present time of day, some days ago, by the system's clock; for ``Store/compact(before:archive:isDryRun:)``.
    public static func daysAgo(_ days: Int) -> Moment {
        .time(Timestamp(milliseconds: SystemClock.nowMilliseconds() - Int64(clamping: days) &* 86_400_000))
    }
}
