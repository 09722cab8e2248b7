import Foundation
import TraylogClient

/// When a snooze ends, as somebody types it: `30m`, `2h`, `3d`, `1w`, or `tomorrow`, which is nine o'clock.
struct SnoozeTime {
    let time: Timestamp

    init?(_ text: String, now: Date = Date(), calendar: Calendar = .current) {
        let text = text.trimmingCharacters(in: .whitespaces).lowercased()
        if text == "tomorrow" {
            guard let day = calendar.date(byAdding: .day, value: 1, to: now),
                let morning = calendar.date(bySettingHour: 9, minute: 0, second: 0, of: day)
            else { return nil }
            time = Timestamp(milliseconds: Int64(morning.timeIntervalSince1970 * 1_000))
            return
        }
        let units: [Character: Int64] = ["m": 60, "h": 3_600, "d": 86_400, "w": 604_800]
        guard let unit = text.last.flatMap({ units[$0] }), let number = UInt16(text.dropLast()), number > 0 else {
            return nil
        }
        time = Timestamp(milliseconds: Int64(now.timeIntervalSince1970 * 1_000) + Int64(number) * unit * 1_000)
    }
}
