import Testing
import TestSupport
import TraylogLMDB
import TraylogLog
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain
@testable import TraylogFold
@testable import TraylogQueries
@testable import TraylogStates

/// The fold of the whole log: the same in one reading and in many, in bounded memory.
@Suite struct LogFoldTests {
    private struct Finding: Equatable {
        var differences: [String]
        var events: UInt64
        var users: UInt64
    }

    private func find(_ path: String, limit: Int, eventsPerPass: Int) throws -> Finding {
        let environment = try Environment.open(directory: path, access: .readOnly, databases: Tables.allNames)
        defer { environment.close() }
        let report = try Replay.compare(path, environment, limit: limit, eventsPerPass: eventsPerPass) { _, _ in }
        return Finding(differences: report.differences, events: report.events, users: report.users)
    }

    @Test func theFirstDifferencesAreTheSameHoweverTheLogIsRead() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                _ = try store.perform((0..<900).map { notify("user\($0 % 30)") })
            }
            try RawStore.change(path) { raw in
                for user in ["user28", "user5", "user20"] {
                    try raw.changeState(StateTable.key(raw.stream(of: user), .root, 0)) { $0.unread -= 1 }
                }
            }
            for limit in [1, 2, 10] {
                let expected = ["user5", "user20", "user28"].prefix(limit).map {
                    "user \($0): unread is 29 and should be 30"
                }
                for eventsPerPass in [1, 70, 500, 2_000_000] {
                    let found = try find(path, limit: limit, eventsPerPass: eventsPerPass)
                    #expect(found == Finding(differences: expected, events: 900, users: 30))
                }
            }
        }
    }

    @Test(arguments: seeds(1, nightly: 60))
    func anyStoreIsIdenticalHoweverItIsReplayed(seed: UInt64) throws {
        try withStorePath { path in
            var settings = options(tailEvents: 20, isRelaxed: true)
            settings.landmarkDistance = 5
            var run = try ModelRun(seed: seed, mix: .typical.with(.all)) { try Store.open(path, options: settings) }
            for round in 0..<3 {
                try run.play(steps: 90, checkEvery: 90)
                if round == 1 { try run.compact(atPercent: 40) }
                run.store.close()
                try within("seed \(seed), round \(round)") { try expectIdentical(path) }
                try run.reopen()
            }
            run.store.close()
        }
    }

    private func expectIdentical(_ path: String) throws {
        let whole = try find(path, limit: 3, eventsPerPass: 2_000_000)
        #expect(whole.differences.isEmpty, "\(whole.differences)")
        for eventsPerPass in [1, 25] {
            #expect(try find(path, limit: 3, eventsPerPass: eventsPerPass) == whole)
        }
    }

    @Test func aStreamThatIsTooLongToBeFoldedIsAFailureAndNoWrongState() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                _ = try store.perform((0..<2_000).map { _ in notify("ann") } + [notify("bob")])
            }
            let environment = try Environment.open(directory: path, access: .readOnly, databases: Tables.allNames)
            defer { environment.close() }
            let source = FileSource(directory: path, environment: environment, tables: Tables(environment))
            let (record, head) = try source.read { ($0.record, $0.head) }
            var fold = LogFold(rows: environment, log: source.tables.log, record: record, head: head)
            fold.placesAtMost = 1_000
            for stream in [nil, StreamID.first] {
                fold.stream = stream
                // In one pass, and divided.
                for eventsPerPass in [fold.eventsPerPass, 100] {
                    fold.eventsPerPass = eventsPerPass
                    let failed = #expect(throws: StoreFailure.self) { try fold.run(progress: { _ in }) { _ in } }
                    #expect(failed?.code == .unsupported && failed?.message.contains("stream 1 ") == true)
                }
            }
            fold.stream = StreamID.first.next
            var found: [StreamID] = []
            try fold.run(progress: { _ in }) { found.append($0.stream) }
            #expect(found == [StreamID.first.next])
        }
    }

    @Test func oneStateIsHeldAtATime() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                _ = try store.perform((0..<2_000).map { notify("user\($0 % 400)") })
            }
            let environment = try Environment.open(directory: path, access: .readOnly, databases: Tables.allNames)
            defer { environment.close() }
            let source = FileSource(directory: path, environment: environment, tables: Tables(environment))
            let (record, head) = try source.read { ($0.record, $0.head) }
            let fold = LogFold(rows: environment, log: source.tables.log, record: record, head: head)
            var alone = Holding(check: nil)
            try fold.run(into: &alone) { _ in }
            #expect(alone.taken == 400 && alone.most == 1)
            let check = StreamCheck(source: source, head: head)
            var compared = Holding(check: StateCheck(check, limit: 1))
            try fold.run(into: &compared) { _ in }
            #expect(compared.taken == 400 && compared.most <= 65)
        }
    }

    /// Counts the states that are in memory.
    private struct Holding: FoldTaker {
        struct Weak { weak var state: LogFold.Folded? }

        var check: StateCheck?
        var taken = 0
        var most = 0
        private var held: [Weak] = []

        init(check: StateCheck?) { self.check = check }

        mutating func reached(_ landmark: TrayState, of stream: LogFold.Folded, before: TrayState?) {}

        mutating func take(_ stream: LogFold.Folded) throws {
            held.removeAll { $0.state == nil }
            held.append(Weak(state: stream))
            (taken, most) = (taken + 1, max(most, held.count))
            try check?.take(stream)
        }
    }

    @Test func aLogOfLargeMarksIsReadInParts() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                for user in ["ann", "bob", "cy"] {
                    let receipts = try store.perform((0..<100).map { _ in notify(user) })
                    let items = receipts.compactMap { receipt -> ItemReference? in
                        if case .appended(let seq) = receipt { .seq(seq) } else { nil }
                    }
                    for index in 0..<200 {
                        let mark: Mark = index % 2 == 0 ? .archived : .unarchived
                        _ = try store.perform(Command(user: user, .mark(mark, items)))
                    }
                }
            }
            let found = try find(path, limit: 1, eventsPerPass: 1_000)
            #expect(found == Finding(differences: [], events: 900, users: 3))
        }
    }

    @Test func aReplayCanBeGivenUp() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                for _ in 0..<20 { _ = try store.perform((0..<1_000).map { notify("user\($0 % 50)") }) }
            }
            var calls = 0
            let failure = try failure {
                try Replay.run(directory: path) { _, _ in
                    calls += 1
                    throw CancellationError()
                }
            }
            #expect(failure?.code == .cancelled && calls == 1)
        }
    }
}
