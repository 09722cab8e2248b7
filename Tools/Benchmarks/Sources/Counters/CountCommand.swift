import ArgumentParser
import Foundation

/// Counts what does not depend on the machine's speed, and compares it with what is expected.
struct CountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "count",
        abstract: "Counts allocations, pages written, syncs and instructions.",
        discussion: """
            Each count may exceed the expected one by a tenth, and by 0.02; instructions by a fiftieth. Exit code 1 names \
            those that exceed it by more. A count that becomes much lower is said, too: --update then writes the new ones. \
            Instructions are counted by valgrind.
            """
    )

    @Option(help: "The expected counts.")
    var expected = "Tools/Benchmarks/counters.json"

    @Flag(help: "Writes the counts to the file instead.")
    var update = false

    @Option(help: "Where the stores are made and removed.")
    var directory = FileManager.default.temporaryDirectory.path

    @Option(help: "Where counting.so is.")
    var references = ".build/benchmarks-c"

    @Option(help: ArgumentHelp("The one that counts, started by the other.", visibility: .private))
    var counting: String?

    @Option(name: .customLong("case"), help: ArgumentHelp("Whose instructions it counts.", visibility: .private))
    var instructions: InstructionCase?

    @Option(help: ArgumentHelp("The one that makes the store for them.", visibility: .private))
    var preparing: String?

    func run() throws {
        if let preparing { return try InstructionRun(directory: preparing).prepare() }
        if let counting {
            if let instructions {
                let times = try InstructionRun(directory: counting).run(instructions)
                print(try Figures(["times": Double(times)]).json)
            } else {
                print(try CountRun(directory: counting).run().json)
            }
            return
        }
        if update { return try write(least(within: nil)) }
        let limits = try Figures(json: Data(contentsOf: URL(fileURLWithPath: expected)))
        let counts = try least(within: limits)
        let failures = counts.values.keys.sorted().filter { name in report(name, counts, limits) }
        guard failures.isEmpty, counts.values.count == limits.values.count else { throw ExitCode(1) }
    }

    /// The least of up to three runs, of only one if nothing in it is too high: a round of flushing that comes in between on a
    /// slow machine adds to the counts.
    private func least(within limits: Figures?) throws -> Figures {
        var least: Figures?
        for _ in 0..<3 {
            if let counts = least?.values, let limits, limits.values.allSatisfy({ !isTooHigh($0, counts[$0], $1) }) {
                break
            }
            let directory = try RunDirectory(under: directory)
            defer { directory.remove() }
            let program = Program(
                path: Bundle.main.executablePath ?? "", arguments: ["count", "--counting", try directory.fresh()],
                environment: ["LD_PRELOAD": URL(fileURLWithPath: references + "/counting.so").path])
            var counts = try program.measure()
            counts.values.merge(try InstructionRun.counts(in: directory).values) { count, _ in count }
            least = least.map { Figures($0.values.merging(counts.values, uniquingKeysWith: min)) } ?? counts
        }
        return least ?? Figures([:])
    }

    /// Whether the count is too high.
    private func report(_ name: String, _ counts: Figures, _ limits: Figures) -> Bool {
        let count = counts.values[name] ?? 0
        guard let limit = limits.values[name] else {
            print("\(name): \(count), and nothing is expected")
            return true
        }
        let isTooHigh = isTooHigh(name, count, limit)
        let isMuchLower =
            name.hasSuffix(InstructionCase.suffix) ? count < limit * 0.98 : count < limit * 0.7 - 0.02
        let remark = isTooHigh ? ": TOO HIGH" : isMuchLower ? ": much lower; --update" : ""
        print("\(name): \(String(format: "%.3f", count)), expected \(String(format: "%.3f", limit))\(remark)")
        return isTooHigh
    }

    private func isTooHigh(_ name: String, _ count: Double?, _ limit: Double) -> Bool {
        (count ?? 0) > (name.hasSuffix(InstructionCase.suffix) ? limit * 1.02 : limit * 1.1 + 0.02)
    }

    private func write(_ counts: Figures) throws {
        let members = counts.values.keys.sorted().map { name in
            "  \"\(name)\": \(String(format: "%.3f", counts.values[name] ?? 0))"
        }
        try Data("{\n\(members.joined(separator: ",\n"))\n}\n".utf8).write(to: URL(fileURLWithPath: expected))
    }
}

extension InstructionCase: ExpressibleByArgument {}
