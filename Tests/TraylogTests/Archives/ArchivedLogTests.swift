import Foundation
import TestSupport
import Testing
import TraylogArchive
import TraylogDomain

@_spi(Internals) @_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogRewrite

/// The log of a store together with its archives.
@Suite struct ArchivedLogTests {
    /// Lends a store with a random history, large payloads among it, closed.
    private func withHistory(_ seed: UInt64, _ body: (String, inout SeededRandom) throws -> Void) throws {
        try withStorePath { path throws in
            var run = try ModelRun(seed: seed, mix: HistoryMix.typical.with(.all)) {
                try Store.open(path, options: options(isRelaxed: true))
            }
            try run.play(steps: 150, checkEvery: 1_000)
            let body16K = String(repeating: "long ", count: 3_000)
            _ = try run.store.perform((1...3).map { Command(user: "large \($0)", .notify(Content(body: body16K))) })
            run.store.close()
            var random = SeededRandom(seed: seed)
            try body(path, &random)
        }
    }

    private func copy(_ path: String) throws -> String {
        let copy = path + "-copy"
        try StoreFiles.make(copy, of: Data(contentsOf: URL(filePath: StoreFiles.data(of: path))))
        return copy
    }

    /// Takes events out of the log in several runs; some go into several archives, and some stay in the log as well.
    private func archive(_ path: String, to directory: String, head: UInt64, _ random: inout SeededRandom) throws {
        for _ in 1...random.between(1, 4) {
            let floor = UInt64(random.between(1, Int(head) - 1))
            let seqs = (1...floor).filter { _ in random.chance(60) }
            try HandMadeArchive.write(seqs.filter { _ in random.chance(20) }, of: path, to: directory)
            try HandMadeArchive.write(seqs, of: path, to: directory, drops: true)
        }
    }

    @Test(arguments: seeds(1, nightly: 80))
    func historyLogAndExportWithArchivesAreThoseFromBefore(seed: UInt64) throws {
        try withHistory(seed) { path, random throws in
            let whole = try copy(path)
            let lines = try exported(whole)
            let archives = path + "-archives"
            try archive(path, to: archives, head: UInt64(lines.count), &random)
            #expect(try logRows(path).count < logRows(whole).count)
            try withReader(whole) { whole in
                try withReader(path) { try compare($0, with: whole, archives, &random) }
                try withStore(path) { try compare($0, with: whole, archives, &random) }
            }
            #expect(try exported(path, including: archives) == lines, "seed \(seed)")
            let from = Seq(UInt64(random.between(1, lines.count)))
            #expect(try exported(path, from: from, including: archives) == Array(lines[(Int(from.rawValue) - 1)...]))
            try restore(lines, to: path + "-restored")
            #expect(try logRows(path + "-restored") == logRows(whole), "seed \(seed)")
        }
    }

    private func compare(
        _ store: some BlockingQueries, with whole: StoreReader, _ directory: String, _ random: inout SeededRandom
    ) throws {
        let archives = try store.archives(in: directory)
        let events = try whole.events(limit: .max).elements
        #expect(try store.events(limit: .max, including: archives).elements == events)
        #expect(archives.files.reduce(0) { $0 + $1.events } > 0)
        for user in try whole.users(limit: .max).elements + ["nobody"] {
            #expect(
                try store.history(of: user, limit: .max, including: archives).elements
                    == whole.history(of: user, limit: .max).elements, "\(user)")
        }
        for _ in 0..<10 {
            let (from, limit) = (Seq(UInt64(random.below(events.count + 2))), random.between(1, 40))
            let asOf = Moment.seq(Seq(UInt64(random.between(1, events.count))))
            #expect(
                try store.events(from: from, limit: limit, asOf: asOf, including: archives).elements
                    == whole.events(from: from, limit: limit, asOf: asOf).elements)
            let user = try random.pick(whole.users(limit: .max).elements)
            #expect(
                try store.history(of: user, from: from, limit: limit, asOf: asOf, including: archives).elements
                    == whole.history(of: user, from: from, limit: limit, asOf: asOf).elements)
        }
    }

    @Test func tasksReadTheSameArchivedEvents() async throws {
        try await withStorePath { path in
            let store = try Store.open(path, options: options())
            _ = try await store.perform([notify("ann"), notify("bob"), notify("ann")])
            await store.close()
            try HandMadeArchive.write([1, 2], of: path, to: path + "-archives", drops: true)
            let reader = try StoreReader.open(path)
            defer { reader.close() }
            let archives = try await reader.upkeep.archives(in: path + "-archives")
            #expect(try await reader.log.events(limit: .max, including: archives).elements.map(\.seq) == [1, 2, 3])
            #expect(
                try await reader.history(of: "ann", limit: .max, including: archives).elements.map(\.seq) == [1, 3])
        }
    }

    @Test func directoriesAndArchivesThatDoNotFitAreNamed() throws {
        try withStorePath { path throws in
            let archives = path + "-archives"
            try withStore(path) { store throws in
                _ = try store.perform([notify("ann"), notify("ann")])
                #expect(try failure { try store.archives(in: archives) }?.code == .notFound)
                try FileManager.default.createDirectory(atPath: archives, withIntermediateDirectories: false)
                let empty = try #require(try failure { try store.archives(in: archives) })
                #expect(empty.code == .notFound && empty.message.contains("has no archives"))
            }
            let name = try HandMadeArchive.write([1], of: path, to: archives, identity: StoreIdentity(8, 9))
            try withReader(path) { reader throws in
                let foreign = try #require(try failure { try reader.archives(in: archives) })
                #expect(foreign.code == .foreignFile)
                #expect(foreign.message.contains(name) && foreign.message.contains("another store"))
            }
        }
    }

    @Test func eventsRemovedDuringAReadComeFromTheArchive() throws {
        try withStorePath { path throws in
            let directory = path + "-archives"
            try withStore(path, options(isRelaxed: true)) { store in
                func append() throws {
                    for _ in 0..<6 { _ = try store.perform((0..<100).map { notify("u\($0 % 3)") }) }
                    for user in 0..<3 { _ = try store.perform(Command(user: "u\(user)", .markAll(.deleted))) }
                }
                try append()
                _ = try store.compact(before: .seq(603), archive: directory)
                let archives = try store.archives(in: directory)
                try append()
                let last = try store.head().rawValue
                var log = try MergedLog(store.queries, archives, of: nil, from: 1, through: last)
                var own = try MergedLog(store.queries, archives, of: "u1", from: 1, through: last)
                var (seqs, ownSeqs) = (try log.events(limit: 300), try own.events(limit: 10))
                #expect(try store.compact(before: .seq(Seq(last)), archive: directory).dropped > 500)
                (seqs, ownSeqs) = (try seqs + log.events(limit: .max), try ownSeqs + own.events(limit: .max))
                #expect(seqs.map(\.seq.rawValue) == Array(1...last))
                #expect(ownSeqs == seqs.filter { $0.user == "u1" })
                // Begun after it, with the same archives.
                #expect(try store.events(limit: .max, asOf: .seq(Seq(last)), including: archives).elements == seqs)
            }
        }
    }

    @Test func anExportNamesTheFirstEventThatIsNowhere() throws {
        try withStorePath { path throws in
            try withStore(path) { store in _ = try store.perform((1...9).map { notify("user \($0)") }) }
            try HandMadeArchive.write([2, 3, 4], of: path, to: path + "-lost", drops: true)
            try HandMadeArchive.write([5, 6, 8], of: path, to: path + "-archives", drops: true)
            let error = try #require(try failure { try exported(path, including: path + "-archives") })
            #expect(error.code == .notFound && error.message.hasPrefix("event 2 is neither"))
            #expect(try exported(path, from: 5, including: path + "-archives").count == 5)
        }
    }
}

/// The lines of an export with archives, without their ends.
private func exported(_ path: String, from first: Seq = 1, including directory: String) throws -> [Line] {
    try withReader(path) { reader in
        var export = try LogExport(of: reader, from: first, including: try reader.archives(in: directory))
        var lines: [Line] = []
        while let some = try export.take() {
            lines += some.bytes.split(separator: UInt8(ascii: "\n")).map(Array.init)
        }
        return lines
    }
}
