import Foundation
import Testing

@testable import TraylogDomain

@Suite struct TimestampTests {
    private func milliseconds(_ text: String) -> Int64? { Timestamp(text)?.milliseconds }

    private static let times: [(String, Int64)] = [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.001Z", 1),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2004-04-15T14:56:01Z", 1_082_040_961_000),
        ("2004-04-15t14:56:01z", 1_082_040_961_000),
        ("2004-04-15 14:56:01Z", 1_082_040_961_000),
        ("2004-04-15T16:56:01+02:00", 1_082_040_961_000),
        ("2004-04-15T14:56:01-00:00", 1_082_040_961_000),
        ("2004-04-14T14:57:01-23:59", 1_082_040_961_000 + 0),
        ("2004-04-15T14:56:01.9Z", 1_082_040_961_900),
        ("2004-04-15T14:56:01.98Z", 1_082_040_961_980),
        ("2004-04-15T14:56:01.9876543210123456789Z", 1_082_040_961_987),
        ("0000-01-01T00:00:00Z", -62_167_219_200_000),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ("9999-12-31T23:59:59.9999Z", 253_402_300_799_999),
        ("2000-02-29T00:00:00Z", 951_782_400_000),
        ("2016-12-31T23:59:60Z", 1_483_228_800_000),
        ("2016-12-31T23:59:60.5Z", 1_483_228_800_500),
        ("2017-01-01T00:59:60+01:00", 1_483_228_800_000),
        ("1990-12-31T15:59:60-08:00", 662_688_000_000),
        ("1969-12-31T23:59:60Z", 0),
    ]

    @Test(arguments: times)
    func aTimeIsRead(text: String, expected: Int64) {
        #expect(milliseconds(text) == expected)
    }

    @Test(arguments: [
        "", "2004", "2004-04-15", "2004-04-15T14:56:01", "2004-04-15T14:56Z", "2004-04-15T14:56:01.Z",
        "2004-04-15T14:56:01,5Z", "2004-04-15T14:56:01.5", "2004-04-15T14:56:01ZZ", "2004-04-15T14:56:01Z ",
        " 2004-04-15T14:56:01Z", "2004-04-15_14:56:01Z", "2004/04/15T14:56:01Z", "2004-04-15T14.56.01Z",
        "2004-13-15T14:56:01Z", "2004-00-15T14:56:01Z", "2004-04-31T14:56:01Z", "2004-04-00T14:56:01Z",
        "2003-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2004-04-15T24:00:00Z",
        "2004-04-15T14:60:01Z", "2004-04-15T14:56:61Z", "2004-04-15T23:59:60Z", "2016-12-31T22:59:60Z",
        "2016-12-31T23:58:60Z", "2016-12-31T23:59:60+01:00", "2004-04-15T14:56:01+2:00",
        "2004-04-15T14:56:01+0200", "2004-04-15T14:56:01+24:00", "2004-04-15T14:56:01+02:60",
        "2004-04-15T14:56:01*02:00", "2004-04-15T14:56:01+02:00:00", "20040-04-15T14:56:01Z",
        "+2004-04-15T14:56:01Z", "-004-04-15T14:56:01Z", "2004-W16-4T14:56:01Z", "2004-04-15T14:56:0１Z",
        "0000-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "9999-12-31T23:59:60Z",
        "2004-04-15T14:56:01.+02:00", "2004-04-15T14:56:01.1234",
    ])
    func invalidTimestampsAreNotRead(text: String) {
        #expect(milliseconds(text) == nil)
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1_082_040_961_000, "2004-04-15T14:56:01.000Z"),
        (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (253_402_300_800_000, "+010000-01-01T00:00:00.000Z"),
        (-62_167_219_200_001, "-000001-12-31T23:59:59.999Z"),
        (Int64.max, "+292278994-08-17T07:12:55.807Z"),
        (Int64.min, "-292275055-05-16T16:47:04.192Z"),
    ])
    func anyTimeIsWritten(milliseconds: Int64, expected: String) {
        #expect(Timestamp(milliseconds: milliseconds).description == expected)
    }

    @Test func everyDayOfFourCenturiesAndBothEndsIsReadAndWritten() {
        let day: Int64 = 86_400_000
        let first = Timestamp.rfc3339Range.lowerBound.milliseconds
        let spans: [Range<Int64>] = [0..<1_000, 700_000..<850_000, 3_651_425..<3_652_425]
        for index in spans.joined() {
            let time = Timestamp(milliseconds: first + index * day + index % day)
            #expect(Timestamp(time.description) == time)
        }
    }

    @Test func aCalendarComputedOtherwiseAgrees() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        var generator = SeededGenerator(seed: 7)
        // Foundation's calendar is Julian before 1582.
        for _ in 0..<5_000 {
            let time = Int64.random(in: -12_000_000_000_000...253_402_300_799_999, using: &generator)
            let second = (Double(time) / 1_000).rounded(.down)
            let parts = calendar.dateComponents(
                [.year, .month, .day, .hour, .minute, .second], from: Date(timeIntervalSince1970: second))
            let fraction = time - Int64(second) * 1_000
            let values: [CVarArg] = [
                parts.year!, parts.month!, parts.day!, parts.hour!, parts.minute!, parts.second!, Int(fraction),
            ]
            let text = String(format: "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", arguments: values)
            #expect(Timestamp(milliseconds: time).description == text)
            #expect(milliseconds(text) == time)
        }
    }

    @Test(arguments: UInt64(0)..<4)
    func anyBytesAreReadOrNot(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let valid = Array("2016-12-31T23:59:60.123+00:00".utf8)
        for _ in 0..<20_000 {
            var bytes = Array(valid.prefix(Int.random(in: 0...valid.count, using: &generator)))
            for _ in 0..<Int.random(in: 0..<4, using: &generator) where !bytes.isEmpty {
                let index = Int.random(in: 0..<bytes.count, using: &generator)
                bytes[index] = UInt8.random(in: 0...255, using: &generator)
            }
            guard let time = Timestamp(bytes.span) else { continue }
            #expect(Timestamp(time.description) == time, "seed \(seed)")
        }
    }

    @Test(arguments: UInt64(0)..<4)
    func anyNumberIsWritten(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<20_000 {
            let time = Timestamp(milliseconds: Int64(bitPattern: generator.next()))
            let isReadable = Timestamp.rfc3339Range.contains(time)
            #expect((Timestamp(time.description) == time) == isReadable, "seed \(seed)")
        }
    }
}
