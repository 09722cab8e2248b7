import Testing

@testable import traylog_cli

struct ProgressBarTests {
    @Test func aProgressBarShowsShareCountRateAndRemainingTime() {
        let moment = ProgressBar.Moment(count: 62_500, fraction: 0.425, elapsed: .seconds(12) + .milliseconds(500))
        #expect(
            ProgressBar.text("append", unit: "commands", at: moment, columns: 100)
                == "append   42 % ████████░░░░░░░░░░░░  62,500 commands  5,000/s  0:12  0:17 left")
    }

    @Test func aProgressBarWithoutATotalShowsNoShare() {
        let moment = ProgressBar.Moment(count: 7_200, fraction: nil, elapsed: .seconds(3_723))
        #expect(
            ProgressBar.text("append", unit: "commands", at: moment, columns: 100)
                == "append  7,200 commands  1/s  1:02:03")
    }

    @Test func aProgressBarShowsNoEstimateTooEarly() {
        for (fraction, seconds) in [(0.001, 10), (0.5, 0), (1.0, 10)] {
            let moment = ProgressBar.Moment(count: 10, fraction: fraction, elapsed: .seconds(seconds))
            #expect(!ProgressBar.text("append", unit: "commands", at: moment, columns: 100).contains("left"))
        }
    }

    @Test func aProgressBarFitsItsLine() {
        let moment = ProgressBar.Moment(count: .max, fraction: 7, elapsed: .zero)
        for columns in 1...90 {
            let text = ProgressBar.text("append", unit: "commands", at: moment, columns: columns)
            #expect(DisplayWidth.of(text) <= columns)
        }
    }

    @Test func aProgressBarGivesWayToTheTimeThatIsLeft() {
        let moment = ProgressBar.Moment(count: 62_500, fraction: 0.425, elapsed: .seconds(12) + .milliseconds(500))
        #expect(
            ProgressBar.text("append", unit: "commands", at: moment, columns: 70)
                == "append   42 % █████░░░░░░░░  62,500 commands  5,000/s  0:12  0:17 left")
    }

    @Test func numbersHaveUnitsThatPeopleRead() {
        #expect(
            [0, 999, 1_000, 1_234_567].map { (number: UInt64) in number.grouped }
                == ["0", "999", "1,000", "1,234,567"])
        #expect(
            [0, 1_023, 1_024, 1_572_864, 5 << 40].map { (number: UInt64) in number.asBytes }
                == ["0 bytes", "1023 bytes", "1.0 KiB", "1.5 MiB", "5.0 TiB"])
    }
}
