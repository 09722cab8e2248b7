import Foundation
import Traylog
import TraylogDomain

/// The work of a child process until it is killed: it performs the commands of a file, in groups and transactions, and
/// writes each answer to another file as soon as it has it.
package struct KilledChild: Codable, Sendable {
    var directory: String
    var seed: UInt64
    var tailEvents: Int
    var isRelaxed: Bool
    /// Random up to this, from the opening on.
    var microsecondsToLive: Int

    /// Leaves commands for the child in the directory of the loop's store.
    package init(_ loop: inout KillLoop, in directory: String) throws {
        let lines = (0..<loop.random.between(1, 250)).map { _ in loop.nextLine() }.joined()
        try Data(lines.utf8).write(to: URL(filePath: directory + "/commands"))
        try Data().write(to: URL(filePath: directory + "/answers"))
        self.directory = directory
        seed = loop.random.next()
        tailEvents = loop.random.pick([1, 2, 8, 64])
        isRelaxed = loop.random.chance(30)
        microsecondsToLive = loop.random.pick([3_000, 30_000, 200_000, 600_000])
    }

    /// Takes the answers that the child left.
    package func hearAnswers(_ loop: inout KillLoop) throws {
        let answers = String(decoding: try Data(contentsOf: URL(filePath: directory + "/answers")), as: UTF8.self)
        // A line that was cut off was not answered.
        for line in answers.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            try loop.hear(String(line))
        }
    }

    package func run() throws {
        var random = SeededRandom(seed: seed)
        let life = random.between(0, microsecondsToLive)
        let lines = try Data(contentsOf: URL(filePath: directory + "/commands")).split(separator: UInt8(ascii: "\n"))
        let answers = try FileHandle(forWritingTo: URL(filePath: directory + "/answers"))
        killSelf(afterMicroseconds: life)
        let store = try Store.open(
            directory + "/store", options: .tiny(tailEvents: tailEvents, isRelaxed: isRelaxed))
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
                commands.append(try Command(line: line.span))
            } catch {
                try submit()
                results.append(.failure(error))
            }
        }
        try submit()
        return results
    }
}

/// Kills this process after a while, regardless of its work.
package func killSelf(afterMicroseconds life: Int) {
    Thread.detachNewThread {
        Thread.sleep(forTimeInterval: Double(life) / 1_000_000)
        kill(getpid(), SIGKILL)
    }
}
