import Foundation
@_spi(Operations) import Traylog
import TraylogDomain

/// A store that a program compacts again and again, with all events that were ever in it.
package struct CompactedLife {
    let directory: String
    let store: String
    package let archives: String
    package let program: TraylogProgram
    package var random: SeededRandom
    package private(set) var log = WholeLog()
    private var generator: HistoryGenerator
    private let seed: UInt64
    /// The duration of a run that is not killed.
    private var microseconds = 200_000

    package init(seed: UInt64, directory: String) {
        self.seed = seed
        self.directory = directory
        store = directory + "/store"
        archives = directory + "/archives"
        program = TraylogProgram(store: store)
        random = SeededRandom(seed: ~seed)
        generator = HistoryGenerator(seed: seed, mix: HistoryMix.typical.with(.all))
    }

    private var options: StoreOptions { .tiny(tailEvents: 64, isRelaxed: true) }

    package mutating func append(_ count: Int) throws {
        let opened = try Store.open(store, options: options)
        defer { opened.close() }
        // The next writer removes the leftovers of a killed process.
        try expectSame([], leftovers, "what is left of a rewrite")
        var shadow = NaiveStore(replaying: log.events)
        for _ in 0..<count {
            do throws(TraylogError) {
                switch generator.next(given: shadow) {
                case .tick(let time): _ = try opened.tick(now: time)
                case .command(let command):
                    _ = try opened.perform(command)
                    _ = shadow.perform(command, now: generator.now)
                }
            } catch {
                guard case .refused = error else { throw error }
            }
        }
        try log.gather(opened)
    }

    package mutating func appendPerson(_ person: String) throws {
        let opened = try Store.open(store, options: options)
        defer { opened.close() }
        try expectSame([], leftovers, "what is left of a rewrite")
        let head = try opened.head().rawValue
        for number in 1...6 {
            let content = Content(title: "\(person) \(number)", body: "for \(person)")
            _ = try opened.perform(Command(user: person, .notify(content), key: "\(person) \(head) \(number)"))
        }
        _ = try opened.perform(Command(user: person, .mark(.deleted, [.seq(Seq(head + 1)), .seq(Seq(head + 2))])))
        _ = try opened.perform(Command(user: "user", .notify(Content(title: "Hi"))))
    }

    private var leftovers: [String] {
        StoreFiles.leftovers(in: store)
    }

    /// Runs the program and kills it at a random moment of its life.
    ///
    /// - Returns: whether it had finished.
    package mutating func runAndKill(_ arguments: [String]) throws -> Bool {
        let process = try program.process(arguments)
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let start = ContinuousClock.now
        try process.run()
        // Half of the time near the end, when the files are exchanged.
        let share = random.chance(50) ? random.between(0, 100) : random.between(60, 120)
        let delay = microseconds * share / 100
        Thread.sleep(forTimeInterval: Double(delay) / 1_000_000)
        let isRunning = process.isRunning
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        guard process.terminationReason == .exit else {
            // It takes longer than estimated.
            microseconds = microseconds * 105 / 100
            return false
        }
        try expectSame(0, process.terminationStatus, "status of a command that came to its end")
        let taken = ContinuousClock.now - start
        if !isRunning { microseconds = min(microseconds, Int(taken / .microseconds(1))) * 90 / 100 }
        return true
    }

    /// Compares the store with all events that were ever in it.
    package mutating func check(isLive: Bool) throws {
        let reader: any AnswersQueries & Closing =
            isLive ? try Store.open(store, options: options) : try StoreReader.open(store)
        do {
            defer { reader.close() }
            try log.gather(reader)
            let naive = try log.naive(reader)
            var comparison = try Comparison(reader, naive, seed: random.next())
            try comparison.check(users: Array(naive.users().prefix(4)) + ["nobody"], depth: .sample(2))
        }
        if isLive { try expectSame([], leftovers, "what is left of a rewrite") }
        // A killed run may have left a directory, and in it nothing that is finished.
        let files = (try? FileManager.default.contentsOfDirectory(atPath: archives)) ?? []
        let hasArchives = files.contains { $0.hasSuffix(".archive") }
        let report = try Verification.run(directory: store, archives: hasArchives ? archives : nil) { _, _ in }
        try expectSame([], report.findings, "findings")
    }

    /// Everything that left the log is in the archives.
    package func checkArchives() throws {
        let run = try program.run(["log", "--json", "--archive", archives])
        let count = run.output.count { $0 == UInt8(ascii: "\n") }
        try expectSame(log.events.count, count, "events in the log and the archives")
    }

    /// - Returns: whether nothing of the person is there; else all of it is.
    package func checkErasure(of person: String) throws -> Bool {
        let opened = try Store.open(store, options: options)
        let isErased: Bool
        do {
            defer { opened.close() }
            try expectSame([], leftovers, "what is left of a rewrite")
            let total = try opened.tray(of: person).total
            isErased = total == 0
            if !isErased {
                try expectSame(8, total, "items of somebody who is not erased")
                let items = try opened.inbox(of: person).elements
                try expectSame(
                    8, items.count { $0.content.title?.hasPrefix(person) == true }, "items with their titles")
            }
        }
        try expectSame(
            [], try Verification.run(directory: store, archives: archives) { _, _ in }.findings, "findings")
        if isErased { try expectSame([], try files(with: person), "files") }
        return isErased
    }

    package func files(with text: String) throws -> [String] {
        let files = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
        return files.filter { file in
            let data = FileManager.default.contents(atPath: directory + "/" + file)
            return data?.range(of: Data(text.utf8)) != nil
        }
    }
}
