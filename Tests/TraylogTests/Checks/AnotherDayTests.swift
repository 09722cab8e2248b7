import Foundation
import Testing
import TestSupport
@testable import TraylogLMDB
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain
@testable import TraylogLog
@testable import TraylogStates

/// The same log gives the same bytes, in any process and on any day.
@Suite struct AnotherDayTests {
    @Test(
        .enabled(if: TraylogProgram.clockChanger != nil, "faketime is not installed"),
        arguments: seeds(1, nightly: 10), ["@2001-02-03 04:05:06", "+4000d"])
    func statesRebuiltOnAnotherDayAreTheSameBytes(seed: UInt64, day: String) throws {
        try withTemporaryDirectory { directory in
            let (here, there) = (directory + "/here", directory + "/there")
            try write(here, seed: seed)
            try FileManager.default.copyItem(atPath: here, toPath: there)
            let today = try TraylogProgram(store: here).run(["replay", "--rebuild"])
            let otherDay = try TraylogProgram(store: there).run(["replay", "--rebuild"], clock: day)
            #expect(today.status == 0 && otherDay.status == 0, "\(today.errors)\(otherDay.errors)")
            for table in ["states", "names", "due"] {
                let (expected, found) = (try rows(of: table, in: here), try rows(of: table, in: there))
                #expect(!expected.isEmpty)
                #expect(expected == found, "seed \(seed), \(table)")
            }
            // Of every kind: roots, pages, landmarks, and pages as they need them.
            let states = try rows(of: "states", in: there)
            let spaces = Set(states.map { $0[4] })
            #expect(spaces.isSuperset(of: [0, PageSpace.items.rawValue, StateTable.Space.landmark.rawValue]))
            let pages = states.filter { $0[4] == PageSpace.items.rawValue }
            #expect(Set(pages.map { $0.prefix(13) }).count < pages.count)
            #expect(try replay(there).identical)
        }
    }

    /// Otherwise nothing would be shown by the test above.
    @Test(.enabled(if: TraylogProgram.clockChanger != nil, "faketime is not installed"))
    func theProgramBelievesTheOtherDay() throws {
        try withStorePath { path in
            let run = try TraylogProgram(store: path).run(["notify", "ann"], clock: "@2001-02-03 04:05:06")
            #expect(run.status == 0, "\(run.errors)")
            let time = try withReader(path) { try $0.events(from: 1, limit: .max).elements[0].recordedAt }
            #expect(time.description.hasPrefix("2001-02-03T04:05:"))
        }
    }

    /// A history of everything, long enough for sealed pages, landmarks and pages as they need them.
    private func write(_ path: String, seed: UInt64) throws {
        var mix = HistoryMix.heavy.with(.all)
        mix.heavyPercent = 60
        mix.notifyPercent = 55
        var run = try ModelRun(seed: seed, mix: mix) {
            var settings = options(tailEvents: 50, isRelaxed: true)
            settings.landmarkDistance = 30
            return try Store.open(path, options: settings)
        }
        try run.play(steps: 700, checkEvery: 10_000)
        _ = try run.store.perform([
            command("ann", .subscribe(topic: "days")), notify("ann", key: "days"),
            command("ann", .notify(Content(expiresAt: .at(1_900_000_000_000)))),
            command("ann", .snooze(.key("days"), until: .at(1_800_000_000_000))),
            command(nil, .broadcast(topic: "days", Content(expiresAt: .at(1_000_000_000_000)))),
        ])
        run.store.close()
    }

    private func rows(of table: String, in path: String) throws -> [[UInt8]] {
        var rows: [[UInt8]] = []
        try RawStore.change(path) { store in
            let database = store.environment.database(table)
            rows = try store.environment.read { transaction in
                try transaction.withCursor(database) { cursor in
                    var rows: [[UInt8]] = []
                    var found = try cursor.first()
                    while found {
                        cursor.withEntry { key, value in
                            var row: [UInt8] = []
                            row.append(copying: key)
                            row.append(copying: value)
                            rows.append(row)
                        }
                        found = try cursor.next()
                    }
                    return rows
                }
            }
        }
        return rows
    }
}
