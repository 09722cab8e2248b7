import Testing
@_spi(Operations) @_spi(Wire) import Traylog

/// Times and numbers as people type them, which the command line and the console parse in the same way.
struct TypedTimeTests {
    /// 2026-06-10 12:00 UTC; clocks go forward by an hour at 2026-03-29 01:00 UTC.
    private let typed = TypedTime(
        now: Timestamp("2026-06-10T12:00:00Z") ?? .now,
        zoneName: { $0.milliseconds < 1_774_746_000_000 ? "CET" : "CEST" },
        secondsFromUTC: { $0.milliseconds < 1_774_746_000_000 ? 3_600 : 7_200 })

    @Test(arguments: ["226462", "226,462", "226 462", "226\u{202f}462", "226\u{a0}462", " 226462\n"])
    func numbersAreReadAsTheyArePrinted(text: String) {
        #expect(typed.moment(text) == .seq(226_462))
    }

    @Test(arguments: ["", "1,23", "1234,567", "1,2345", ",123", "12 34", "-1", "1.000", "99999999999999999999"])
    func otherTextsAreNoNumber(text: String) {
        #expect(TypedTime.number(text) == nil)
    }

    @Test(arguments: [
        ("2026-01-05 09:00:00", "2026-01-05T08:00:00Z"), ("2026-01-05T09:00", "2026-01-05T08:00:00Z"),
        ("2026-07-05 09:00", "2026-07-05T07:00:00Z"), ("2026-07-05", "2026-07-04T22:00:00Z"),
        ("2026-07-05 09:00 CEST", "2026-07-05T07:00:00Z"), ("2026-07-05 09:00:00 UTC", "2026-07-05T09:00:00Z"),
        ("2026-07-05T09:00:00+05:00", "2026-07-05T04:00:00Z"), ("2h", "2026-06-10T10:00:00Z"),
        ("3 min ago", "2026-06-10T11:57:00Z"), ("90s", "2026-06-10T11:58:30Z"), ("1w", "2026-06-03T12:00:00Z"),
        ("today", "2026-06-09T22:00:00Z"), ("yesterday", "2026-06-08T22:00:00Z"), ("now", "2026-06-10T12:00:00Z"),
    ])
    func timesAreReadInTheReadersZone(text: String, wanted: String) throws {
        #expect(typed.moment(text) == .time(try #require(Timestamp(wanted))))
    }

    /// In zones where the clocks skip midnight, as in Havana, São Paulo, Cairo, Beirut and Santiago, and one that skipped a day.
    @Test(
        arguments: [
            (-18_000, -14_400, "2026-03-08T05:00:00Z", "2026-03-08", "2026-03-08T05:00:00Z"),
            (7_200, 10_800, "2026-03-28T22:00:00Z", "2026-03-29", "2026-03-28T22:00:00Z"),
            (-18_000, -14_400, "2026-03-08T04:30:00Z", "2026-03-08", "2026-03-08T04:30:00Z"),
            (-36_000, 50_400, "2011-12-30T10:00:00Z", "2011-12-30", "2011-12-30T10:00:00Z"),
        ] as [(Int64, Int64, String, String, String)])
    func aDateBeginsWithTheFirstMomentOfItsDay(
        before: Int64, after: Int64, change: String, date: String, wanted: String
    ) throws {
        let (change, wanted) = (try #require(Timestamp(change)), try #require(Timestamp(wanted)))
        let now = Timestamp(milliseconds: wanted.milliseconds + 36_000_000)
        let typed = TypedTime(now: now, secondsFromUTC: { $0 < change ? before : after })
        #expect(typed.time(date) == wanted)
        #expect(typed.time(date + " 00:00") == nil)
        #expect(typed.timeAgo("today") == (date == "2011-12-30" ? typed.time("2011-12-31") : wanted))
    }

    @Test(arguments: [
        "2026-03-29 02:30", "2026-02-30", "2026-07-05 09:00 CET", "2026-7-5", "2026-07-05 24:00", "2026-07-05 23:59:60",
        "2026-07-05x09:00", "soon", "2y", "ago", "99999999999h",
    ])
    func aTimeThatDoesNotExistIsNone(text: String) {
        #expect(typed.moment(text) == nil)
    }
}
