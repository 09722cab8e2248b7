import Testing
import TestSupport
import TraylogDomain
import TraylogLMDB
import TraylogLog
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogStates

@Suite struct RestoreTests {
    /// Random histories of all kinds: the restored log has the same bytes, the restored store gives the same answers, and
    /// goes on like the first one.
    @Test(arguments: seeds(1, nightly: 60))
    func aRestoredStoreIsTheOneThatWasExported(seed: UInt64) throws {
        try withStorePath { path throws in
            var settings = options(tailEvents: 8)
            settings.landmarkDistance = 5
            var directory = path
            var run = try ModelRun(seed: seed, mix: HistoryMix.typical.with(.all)) {
                try Store.open(directory, options: settings)
            }
            for round in 1...2 {
                try run.play(steps: 120, checkEvery: 1_000)
                run.store.close()
                let restored = path + "-\(round)"
                let head = run.naive.head
                let report = try restore(exported(directory), to: restored, settings)
                #expect(report == RestoreReport(events: head.rawValue, head: head))
                #expect(try logRows(restored) == logRows(directory), "seed \(seed), round \(round)")
                #expect(try findings(restored).isEmpty, "seed \(seed), round \(round)")
                #expect(try replay(restored).identical, "seed \(seed), round \(round)")
                directory = restored
                try run.reopen()
            }
            try run.play(steps: 30, checkEvery: 15)
            try run.finish(users: 4, depth: .sample(10))
        }
    }

    /// A store that is restored through any moment gives the answers that the first one gives as of it.
    @Test(arguments: seeds(1, nightly: 40))
    func aStoreRestoredThroughAMomentAnswersAsItDidThen(seed: UInt64) throws {
        try withStorePath { path throws in
            var run = try ModelRun(seed: seed, mix: HistoryMix.typical.with(.all)) {
                try Store.open(path, options: options())
            }
            try run.play(steps: 80, checkEvery: 1_000)
            run.store.close()
            let lines = try exported(path)
            var random = SeededRandom(seed: seed)
            let original = try StoreReader.open(path)
            defer { original.blocking.close() }
            for number in 0..<4 {
                let seq = Seq(UInt64.random(in: 0...UInt64(lines.count), using: &random))
                let restored = path + "-\(number)"
                let restore = try LogRestore(directory: restored, through: .seq(seq))
                for line in lines { try restore.add(line.span) }
                #expect(try restore.finish { _, _ in }.head == seq, "seed \(seed)")
                restore.close()
                try withReader(restored) { reader in
                    for user in try reader.users(limit: .max).elements {
                        let then = try original.blocking.tray(of: user, asOf: .seq(seq))
                        #expect(try reader.tray(of: user) == then, "seed \(seed), \(user) at \(seq)")
                    }
                }
                #expect(try findings(restored).isEmpty, "seed \(seed) at \(seq)")
                #expect(try replay(restored).identical, "seed \(seed) at \(seq)")
            }
        }
    }

    @Test func anEmptyStoreIsRestoredEmpty() throws {
        try withStorePath { path throws in
            try withStore(path) { _ in }
            #expect(try exported(path).isEmpty)
            #expect(try restore([], to: path + "-2") == RestoreReport(events: 0, head: 0))
            try withReader(path + "-2") { reader throws in #expect(try reader.head() == 0) }
            // An existing empty directory will do as well.
            #expect(try restore([], to: path + "-2").head == 0)
        }
    }

    @Test func anEmptyStoreTakesARestoreAndGoesOn() throws {
        try withStorePath { path throws in
            try withStore(path) { store in _ = try store.perform([notify("ann"), notify("bob")]) }
            try withStore(path + "-2") { _ in }
            try restore(exported(path), to: path + "-2")
            try withStore(path + "-2") { store throws in
                #expect(try store.perform(notify("cy")) == .appended(3))
                #expect(try store.users(limit: .max).elements == ["ann", "bob", "cy"])
            }
            #expect(try replay(path + "-2").identical)
        }
    }

    @Test func aStoreWithEventsIsRefusedAndStaysAsItIs() throws {
        try withStorePath { path throws in
            try withStore(path) { store in _ = try store.perform(notify("ann")) }
            let rows = try logRows(path)
            let failed = try failure { try restore(exported(path), to: path) }
            #expect(failed?.code == .unusableTarget)
            #expect(try logRows(path) == rows)
            #expect(try findings(path).isEmpty)
        }
    }

    @Test func aStoreOpenForWritingElsewhereIsRefused() throws {
        try withStorePath { path throws in
            try withStore(path) { _ throws in
                #expect(try failure { try LogRestore(directory: path) }?.code == .alreadyOpen)
            }
        }
    }

    @Test func largeEventsAndFieldsOfTheFutureSurviveARestore() throws {
        try withStorePath { path throws in
            let data = "[" + Array(repeating: "\"é\\u0001🎈\"", count: 4_000).joined(separator: ", ") + "]"
            try withStore(path) { store throws in
                let big = Content(title: "a\u{0}b", body: String(repeating: "\"\n", count: 8_000), data: data)
                _ = try store.perform([Command(user: "ann", .notify(big)), notify("ann")])
            }
            try appendFutureFields(path)
            let lines = try exported(path)
            try restore(lines, to: path + "-2")
            #expect(try logRows(path + "-2") == logRows(path))
            #expect(try logRows(path).count > 3 + 10)
            #expect(try exported(path + "-2") == lines)
            #expect(try findings(path + "-2").isEmpty)
        }
    }

    /// An event of ann with fields that nobody knows: one small, and one that makes the payload a large one.
    private func appendFutureFields(_ path: String) throws {
        try RawStore.change(path) { raw in
            for size in [3, 30_000] {
                let head = try raw.environment.read { try raw.tables.log.events.head(in: $0) }
                var payload: [UInt8] = []
                PayloadEncoder.append(
                    user: "ann", key: nil, actor: nil, device: nil, commandFingerprint: 0,
                    body: .notified(Content(title: "new")), unknownFields: [], to: &payload)
                payload += [0xFA, 0x3E]
                payload.appendVarint(UInt64(size))
                payload += Array(repeating: 7, count: size)
                var batch = RecordBatch(firstSeq: head.seq + 1)
                batch.append(
                    payload: RawSpan(_elements: payload.span), kind: .notified, stream: 1,
                    revision: try raw.revision(of: "ann") + UInt32(batch.count) + 1, recordedAt: head.recordedAt,
                    occurredAt: Timestamp(milliseconds: -1), salt: Salt(1, .max))
                try raw.environment.write { try raw.tables.log.events.append(batch, to: &$0) }
            }
        }
    }

    @Test func aRestoreAcceptsMembersOfTheFutureAndOtherSpellings() throws {
        try withStorePath { path throws in
            try withStore(path) { store throws in
                _ = try store.perform(
                    Command(user: "ann", .notify(Content(title: "Aé", data: #"{"a":[1,true,null]}"#))))
            }
            let line = String(decoding: try #require(exported(path).first), as: UTF8.self)
            let other =
                line
                .replacing(#""title":"Aé""#, with: #" "title" : "\u0041\u00E9", "colour":{"title":1}"#)
                .replacing(#"{"a":[1,true,null]}"#, with: #"{ "a" : [1.0, true , null] }"#)
                .replacing(#""stream":1"#, with: #""stream":1,"digest":null"#)
            #expect(other != line)
            try restore([Array(other.utf8)], to: path + "-2")
            #expect(try logRows(path + "-2") == logRows(path))
        }
    }

    @Test func consecutiveExportsRestoreAsOne() throws {
        try withStorePath { path throws in
            try withStore(path) { store throws in
                _ = try store.perform((1...9).map { notify("user \($0 % 3)", "\($0)") })
            }
            let first = try exported(path, through: 4)
            #expect(first.count == 4)
            #expect(try restore(first, to: path + "-2").head == 4)
            #expect(try restore(first + exported(path, from: 5), to: path + "-3").head == 9)
            #expect(try logRows(path + "-3") == logRows(path))
            #expect(try exported(path, from: 10).isEmpty)
        }
    }

    @Test func aRestoreThatWasLeftIsNamedByEveryoneAndRepeated() throws {
        try withStorePath { path throws in
            try withStore(path) { store throws in
                for batch in 0..<3 {
                    _ = try store.perform((0..<1_000).map { notify("user \($0 % 70)", "\(batch)") })
                }
            }
            let lines = try exported(path)
            let target = path + "-2"
            #expect(try refusal { try restore(lines.prefix(2_100), to: target) }?.field == "stored.last")
            #expect(try failure { try Store.open(target) }?.code == .unfinished)
            #expect(try failure { try withReader(target) { try $0.head() } }?.code == .unfinished)
            #expect(try failure { try withReader(target) { try $0.events(limit: .max).elements } }?.code == .unfinished)
            #expect(try failure { try withReader(target) { try $0.tray(of: "user 1") } }?.code == .unfinished)
            #expect(try failure { try withReader(target) { try $0.backup(to: path + "-3") } }?.code == .unfinished)
            #expect(try failure { try findings(target) }?.code == .unfinished)
            #expect(try failure { try replay(target) }?.code == .unfinished)
            #expect(try failure { try replay(target, rebuild: true) }?.code == .unfinished)
            try restore(lines, to: target)
            #expect(try logRows(target) == logRows(path))
            #expect(try findings(target).isEmpty)
        }
    }
}
