import Testing
import TestSupport
import TraylogPlatform
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain

/// Replacing all stored states, also under the eyes of a reader.
@Suite struct RebuildTests {
    @Test func readersNeverNoticeARebuild() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                _ = try store.perform((0..<1_500).map { notify("user\($0 % 10)") })
            }
            let reader = try StoreReader.open(path)
            defer { reader.close() }
            let isOver = Monitor(false)
            let wrong = Monitor<[String]>([])
            let threads = (0..<2).map { number in
                startThread("reader") {
                    while !isOver.withLock({ $0 }) {
                        do {
                            let total = try reader.tray(of: "user\(number)").total
                            if total != 150 { wrong.withLock { $0.append("total \(total)") } }
                            let users = try reader.users(limit: .max).elements.count
                            if users != 10 { wrong.withLock { $0.append("\(users) users") } }
                            let deep = try reader.inbox(of: "user\(number)", InboxQuery(cursor: Cursor(before: 300)))
                            if deep.elements.count != 20 {
                                wrong.withLock { $0.append("a page of \(deep.elements.count)") }
                            }
                        } catch {
                            wrong.withLock { $0.append("\(error)") }
                        }
                    }
                }
            }
            for _ in 0..<sized(6, nightly: 200) {
                let run = try TraylogProgram(store: path).run(["replay", "--rebuild"])
                #expect(run.status == 0, "\(run.errors)")
            }
            isOver.withLock { $0 = true }
            for thread in threads { thread.join() }
            let found = wrong.withLock { $0 }
            #expect(found.isEmpty, "\(found.count) wrong answers, such as \(found.prefix(3))")
        }
    }

    @Test func aRebuildChangesNoAnswer() throws {
        try withStorePath { path in
            var run = try ModelRun(seed: 5, mix: .typical.with(.all)) {
                try Store.open(path, options: options(tailEvents: 20, isRelaxed: true))
            }
            for _ in 0..<3 {
                try run.play(steps: 80, checkEvery: 80)
                run.store.close()
                #expect(try replay(path, rebuild: true).identical)
                #expect(try replay(path).identical)
                try run.reopen()
            }
            try run.finish(depth: .sample(5))
        }
    }

    @Test func rebuildsAfterDamageHavePausesThatDoubleAndAnEnd() {
        var pace = RepairPace()
        var (now, rebuilds): (Int64, [Int64]) = (5, [])
        // Damage is met every second for a day.
        for _ in 0..<86_400 {
            if pace.begin(at: now) {
                rebuilds.append(now)
                let (isSecond, isLast) = (pace.begin(at: now), pace.end(at: now))
                #expect(!isSecond, "one at a time")
                #expect(isLast == (rebuilds.count == RepairPace.rebuildsAtMost))
            }
            now += 1_000_000_000
        }
        let pauses = zip(rebuilds.dropFirst(), rebuilds).map { ($0 - $1) / 1_000_000_000 }
        #expect(pauses == [60, 120, 240, 480, 960, 1_920, 3_840])
    }

    @Test func aRebuildThatWasNotMadeOrFailedCountsAsNone() {
        var pace = RepairPace()
        let first = pace.begin(at: 0)
        // Another rewrite was under way.
        pace.giveBack()
        let second = pace.begin(at: 0)
        // It failed: the next opening tries again.
        let third = pace.begin(at: .max)
        #expect(first && second && !third)
    }
}
