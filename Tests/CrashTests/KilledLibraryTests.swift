import Foundation
import TestSupport
import Testing
import Traylog

/// A process that embeds the store, killed while it appends; with so short a tail that some flush is always under way.
@Suite struct KilledLibraryTests {
    @Test(arguments: seeds(2, long: 12))
    func aWriterThatFlushesAllTheTimeCanBeKilledAtAnyMoment(seed: UInt64) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "traylog-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var loop = KillLoop(seed: seed ^ 0x6b69_6c6c, directory: directory + "/store")
        var total = 0
        // On a busy machine some rounds end before anything is answered: more of them, then.
        while loop.round < (isLong ? 60 : 8) || total <= 100 {
            loop.beginRound()
            let lines = (0..<loop.random.between(1, 250)).map { _ in loop.nextLine() }.joined()
            try Data(lines.utf8).write(to: URL(filePath: directory + "/commands"))
            try Data().write(to: URL(filePath: directory + "/answers"))
            let child = KilledChild(
                directory: directory, seed: loop.random.next(), tailEvents: loop.random.pick([1, 2, 8, 64]),
                isRelaxed: loop.random.chance(30),
                microsecondsToLive: loop.random.pick([3_000, 30_000, 200_000, 600_000]))
            await #expect(processExitsWith: .signal(SIGKILL)) { [child = child as KilledChild] in try child.run() }
            let answers = String(decoding: try Data(contentsOf: URL(filePath: directory + "/answers")), as: UTF8.self)
            // A line that was cut off was not answered.
            for line in answers.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
                try loop.hear(String(line))
            }
            total += loop.answered
            try loop.check()
        }
    }
}

/// What a child process does until it is killed: performs the commands of a file, in groups and transactions, and
/// writes each answer to another file as soon as it has it.
struct KilledChild: Codable, Sendable {
    var directory: String
    var seed: UInt64
    var tailEvents: Int
    var isRelaxed: Bool
    /// Random up to this, from the opening on.
    var microsecondsToLive: Int

    func run() throws {
        var random = SeededRandom(seed: seed)
        let life = random.between(0, microsecondsToLive)
        let lines = try Data(contentsOf: URL(filePath: directory + "/commands")).split(separator: UInt8(ascii: "\n"))
        let answers = try FileHandle(forWritingTo: URL(filePath: directory + "/answers"))
        Thread.detachNewThread {
            Thread.sleep(forTimeInterval: Double(life) / 1_000_000)
            kill(getpid(), SIGKILL)
        }
        let store = try Store.open(
            directory + "/store", options: KillLoop.options(tailEvents: tailEvents, isRelaxed: isRelaxed))
        var next = 0
        while next < lines.count {
            let group = lines[next...].prefix(random.between(1, 12))
            var text = ""
            for (result, line) in zip(try perform(group.map { Array($0) }, store), next...) {
                text += try Acknowledgement(line: line + 1, result).json + "\n"
            }
            try answers.write(contentsOf: Data(text.utf8))
            next += group.count
        }
        while true { sleep(1) }
    }

    private func perform(_ lines: [[UInt8]], _ store: Store) throws -> [Result<Receipt, Refusal>] {
        var results: [Result<Receipt, Refusal>] = []
        var commands: [Command] = []
        func submit() throws {
            results += try store.submit(commands, stopAtRefusal: false)
            commands = []
        }
        for line in lines {
            do throws(Refusal) {
                commands.append(try Command(json: line.span))
            } catch {
                try submit()
                results.append(.failure(error))
            }
        }
        try submit()
        return results
    }
}
