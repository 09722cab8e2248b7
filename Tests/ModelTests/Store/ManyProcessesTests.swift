import Foundation
import Testing
import TestSupport
@_spi(Operations) import Traylog
import TraylogDomain
import TraylogPlatform

/// One process that appends and ten that read, all of them the built program.
@Suite struct ManyProcessesTests {
    private struct Answer: Sendable {
        var arguments: [String]
        var run: TraylogProgram.Run
    }

    @Test(arguments: seeds(1, nightly: 10))
    func tenReadersSeeConsistentStatesWhileOneProcessAppends(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            let store = directory + "/store"
            var mix = HistoryMix.typical
            mix.categories = 2
            mix.largePercent = 0
            var writer = PacedWriter(seed: seed, mix: mix, process: try AppendingProcess(store: store))
            try writer.append(60)
            let users = Array(writer.naive.users().prefix(3))

            let answers = Monitor([[Answer]](repeating: [], count: 10))
            let readersLeft = Monitor(10)
            let readers = (0..<10).map { reader in
                startThread("reader") {
                    for round in 0..<sized(3, nightly: 40) {
                        let arguments = [
                            ["tray", users[reader % 3], "--json"],
                            ["inbox", users[round % 3], "--json", "--limit", "100"],
                            ["users", "--json"], ["log", "--json"],
                        ][(reader + round) % 4]
                        if let run = try? TraylogProgram(store: store).run(arguments) {
                            answers.withLock { $0[reader].append(Answer(arguments: arguments, run: run)) }
                        }
                    }
                    readersLeft.withLock { $0 -= 1 }
                }
            }
            // Pauses of all lengths: a busy writer flushes beside its appends, an idle one after 200 ms.
            while readersLeft.withLock({ $0 }) > 0 {
                try writer.append(writer.random.between(1, 8))
                Thread.sleep(forTimeInterval: Double(writer.random.pick([1, 10, 30, 300])) / 1_000)
            }
            for reader in readers { reader.join() }
            let second = try TraylogProgram(store: store).run(["append", "-"])
            #expect(second.status == 69 && second.errors.contains("\(writer.process.processID)"), "\(second.errors)")
            let rebuild = try TraylogProgram(store: store).run(["replay", "--rebuild"])
            #expect(rebuild.status == 69 && rebuild.errors.contains("\(writer.process.processID)"))
            #expect(try writer.process.finish() == 0)

            try check(answers.withLock { $0 }, store, "seed \(seed)")
        }
    }

    /// Every answer follows from the log up to its `asOf`, which never decreases for a reader.
    private func check(_ answers: [[Answer]], _ store: String, _ label: String) throws {
        let reader = try StoreReader.open(store)
        defer { reader.close() }
        let events = try reader.events(limit: .max).elements
        let json = NaiveJSON(naive: NaiveStore(replaying: events), recordedAt: events.map(\.recordedAt))
        for answers in answers {
            #expect(answers.count == sized(3, nightly: 40), "\(label)")
            var newest: UInt64 = 0
            for answer in answers {
                let label = "\(label), \(answer.arguments)"
                #expect(answer.run.status == 0 && answer.run.errors.isEmpty, "\(label): \(answer.run.errors)")
                let lines = try answer.run.output.split(separator: UInt8(ascii: "\n")).map { line in
                    let value = NaiveJSON.withoutNulls(try JSONSerialization.jsonObject(with: Data(line)))
                    return try #require(value as? [String: Any])
                }
                if answer.arguments[0] == "log" {
                    let seqs = lines.compactMap { ($0["seq"] as? NSNumber)?.uint64Value }
                    #expect(seqs == Array(1..<UInt64(lines.count + 1)), "\(label)")
                    #expect(seqs.count >= Int(newest), "\(label)")
                    newest = UInt64(seqs.count)
                    for (line, event) in zip(lines, events) {
                        #expect(line["kind"] as? String == event.kind.rawValue, "\(label), \(event.seq)")
                    }
                    continue
                }
                for line in lines {
                    let asOf = try #require(line["asOf"] as? NSNumber).uint64Value
                    #expect(asOf >= newest, "\(label): \(asOf) after \(newest)")
                    newest = asOf
                    let user = try #require(line["user"] as? String)
                    if answer.arguments[0] == "inbox" {
                        let items = try json.items(user, InboxQuery(), asOf: Seq(asOf))
                        let expected = items.subarray(with: NSRange(location: 0, length: min(100, items.count)))
                        expect(expected, line["items"] ?? [], label)
                    } else {
                        expect(json.tray(user, asOf: Seq(asOf)), line, label)
                    }
                }
            }
        }
    }

    private func expect(_ expected: Any, _ found: Any, _ label: String) {
        guard let difference = jsonDifference(expected, found) else { return }
        Issue.record("\(label)\(difference)")
    }
}

/// Hands random commands to an appending process, a few at a time.
private struct PacedWriter {
    let process: AppendingProcess
    private(set) var naive = NaiveStore()
    var random: SeededRandom
    private var generator: HistoryGenerator
    private var line = 0

    init(seed: UInt64, mix: HistoryMix, process: AppendingProcess) {
        self.process = process
        random = SeededRandom(seed: ~seed)
        generator = HistoryGenerator(seed: seed, mix: mix)
    }

    mutating func append(_ count: Int) throws {
        for _ in 0..<count {
            guard case .command(let command) = generator.next(given: naive) else { continue }
            let result = naive.perform(command, now: generator.now)
            line += 1
            try process.say(command.jsonLine + "\n")
            let answer = try #require(process.hear())
            #expect(try Acknowledgement(answer) == Acknowledgement(line: line, result), "\(command)")
        }
    }
}
