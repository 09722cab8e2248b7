import Foundation
import Traylog
import TraylogDomain

/// Damages copies of one store, and runs all queries on each, in a separate process.
package struct DamageLoop {
    private let directory: String
    private let file: Data
    private let head: Seq
    private let expected: [Answer]
    /// The built program's answers to the same queries, by its arguments.
    private let expectedRuns: [[String]: TraylogProgram.Run]
    private let seed: UInt64

    /// The queries that the built program also runs.
    private static let commands: [[String]] = [
        ["verify"], ["replay"], ["tray", "ann"], ["inbox", "ann", "--json"], ["threads", "ann"], ["history", "ann"],
        ["log", "--json"], ["users"], ["stats"], ["export"], ["backup"],
        ["notify", "ann", "--title", "after"],
    ]

    /// - Parameter directory: empty; everything is made in it.
    package init(directory: String, seed: UInt64, steps: Int) throws {
        self.directory = directory
        self.seed = seed
        let path = directory + "/undamaged"
        head = try Subject.make(at: path, seed: seed, steps: steps)
        file = try Data(contentsOf: URL(filePath: StoreFiles.data(of: path)))
        let copy = try Self.copy(file, to: directory + "/reference")
        expected = try Self.ask(copy, head: head).answers
        let wrong = expected.filter { $0.digest == nil }
        guard wrong.isEmpty, !expected.isEmpty else {
            throw Difference(path: ["seed \(seed)"], expected: "answers", found: "\(wrong.map(\.text))")
        }
        var runs: [[String]: TraylogProgram.Run] = [:]
        let other = try Self.copy(file, to: directory + "/reference")
        for command in Self.commands { runs[command] = try Self.run(command, other) }
        expectedRuns = runs
    }

    /// Damages that many copies.
    ///
    /// - Parameters:
    ///   - programEvery: of so many copies one is shown to the built program, too.
    ///   - progress: gets each damage before it is done.
    package func run(
        _ kind: Damage.Kind, count: Int, programEvery: Int, progress: (Int, Damage) -> Void = { _, _ in }
    ) throws -> DamageReport {
        var report = DamageReport(kind: kind)
        for (number, damage) in Damage.some(count, of: kind, to: file, seed: seed).enumerated() {
            progress(number, damage)
            var damaged = file
            damage.apply(to: &damaged)
            report.copies += 1
            try check(damaged, damage, &report)
            if number % programEvery == 0 { try checkProgram(damaged, damage, &report) }
        }
        return report
    }

    private func check(_ damaged: Data, _ damage: Damage, _ report: inout DamageReport) throws {
        let path = try Self.copy(damaged, to: directory + "/damaged")
        let (answers, signal) = try Self.ask(path, head: head)
        func fail(_ words: String) { report.failures.append("seed \(seed), \(damage): \(words)") }
        if let signal { fail("signal \(signal) after \(answers.last?.text ?? "nothing")") }
        let right = Dictionary(uniqueKeysWithValues: expected.map { ($0.question, $0) })
        for answer in answers where answer.digest != nil && answer.digest != right[answer.question]?.digest {
            fail("\(answer.text), not \(right[answer.question]?.text ?? "asked of the undamaged one")")
        }
        let isNamed = answers.contains {
            ($0.question == "before verify" || $0.question == "before open") && $0.digest == nil
        }
        let isHarmless = answers.map(\.question) == expected.map(\.question) && answers.allSatisfy { $0.digest != nil }
        report.named += isNamed ? 1 : 0
        report.harmless += isHarmless ? 1 : 0
        if !isHarmless, !isNamed, signal == nil {
            fail("verify found nothing, but \(answers.first { $0.digest == nil }?.text ?? "an answer is missing")")
        }
    }

    private func checkProgram(_ damaged: Data, _ damage: Damage, _ report: inout DamageReport) throws {
        let path = try Self.copy(damaged, to: directory + "/damaged")
        for command in Self.commands {
            let run = try Self.run(command, path)
            let words = "seed \(seed), \(damage): traylog \(command.joined(separator: " "))"
            guard [0, 1, 66, 74].contains(run.status), run.isExit else {
                report.failures.append("\(words) ended with \(run.status): \(run.errors)")
                continue
            }
            // The numbers of rows that `stats` tells are not looked at; only `verify` counts them.
            if run.status == 0, !["stats", "backup", "notify"].contains(command[0]), let right = expectedRuns[command],
                Self.comparable(run.output, command) != Self.comparable(right.output, command)
            {
                report.failures.append("\(words) gave another answer")
            }
        }
    }

    /// Without what differs from run to run.
    private static func comparable(_ output: Data, _ command: [String]) -> Data {
        guard command[0] == "replay" else { return output }
        return Data(String(decoding: output, as: UTF8.self).prefix { $0 != "," }.utf8)
    }

    private static func copy(_ file: Data, to path: String) throws -> String {
        for path in [path, path + "-copy"] { try? FileManager.default.removeItem(atPath: path) }
        try StoreFiles.make(path, of: file)
        return path
    }

    private static func run(_ command: [String], _ path: String) throws -> TraylogProgram.Run {
        try? FileManager.default.removeItem(atPath: path + "-copy")
        return try TraylogProgram(store: path).run(command == ["backup"] ? command + [path + "-copy"] : command)
    }

    /// The output of a process that runs all queries, and the signal that ended it, if any.
    private static func ask(_ path: String, head: Seq) throws -> (answers: [Answer], signal: Int32?) {
        let process = Process()
        process.executableURL = try TraylogProgram.location(of: "traylog-damage")
        process.arguments = ["ask", path, String(head.rawValue)]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let isExit = process.terminationReason == .exit && process.terminationStatus == 0
        return (text.split(separator: "\n").compactMap { Answer(text: $0) }, isExit ? nil : process.terminationStatus)
    }
}
