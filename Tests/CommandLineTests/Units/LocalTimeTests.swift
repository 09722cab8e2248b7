import Foundation
import Testing
import Traylog

@testable import traylog_cli

/// Times as people write them, in the zone of the machine.
struct LocalTimeTests {
    @Test func printedTimesAreReadAgain() throws {
        for milliseconds: Int64 in [0, 1_000_000_000_000, 1_772_000_000_000, -86_400_000] {
            let time = Timestamp(milliseconds: milliseconds)
            #expect(Timestamp(argument: time.localText) == time)
            #expect(Moment(argument: time.localText) == .time(time))
            let day = try #require(Timestamp(argument: String(time.localText.prefix(10))))
            #expect(day.localText == time.localText.prefix(10) + " 00:00:00")
        }
        #expect(Timestamp(local: "2026-02-28 14:03") == Timestamp(local: "2026-02-28T14:03:00"))
    }

    @Test(arguments: [
        "", "2026", "2026-2-28", "2026-02-30", "2026-02-28 ", "2026-02-28 25:00", "2026-02-28 14:3", "2026-13-01",
        "28-02-2026",
        "2026-02-28 14:03:22.5", "2026-02-28  14:03", "-026-02-28", "2h", "yesterday",
    ])
    func textInAnotherFormIsNoTime(text: String) {
        #expect(Timestamp(argument: text) == nil)
    }

    @Test func aMomentMayCountBackFromNow() throws {
        for (text, seconds) in [("90s", 90), ("30m", 1_800), ("2h", 7_200), ("3d", 259_200), ("1w", 604_800)]
            as [(String, Int64)]
        {
            let before = Timestamp.now.milliseconds - seconds * 1_000
            guard case .time(let time) = Moment(argument: text) else {
                Issue.record("\(text) is no time")
                continue
            }
            #expect(time.milliseconds >= before && time.milliseconds <= Timestamp.now.milliseconds - seconds * 1_000)
        }
        guard case .time(let today) = Moment(argument: "today"), case .time(let before) = Moment(argument: "yesterday")
        else {
            Issue.record("today and yesterday")
            return
        }
        #expect(today.localText.hasSuffix("00:00:00") && before.localText.hasSuffix("00:00:00") && before < today)
        for text in ["h", "2y", "-2h", "tomorrow", "2h ag"] { #expect(Moment(argument: text) == nil) }
    }
}
