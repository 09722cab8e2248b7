import ArgumentParser
import Foundation

/// Runs cases and their references in alternation and prints the medians.
struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs cases beside their references, in alternation, and prints medians.",
        discussion: """
            Tools/Benchmarks/setup installs and builds the references; those that are not there are left out, and said \
            to be. Ratios are how many times better than the reference. Figures of durable appends mean little \
            without the disk's sync rate beside them; --sync-delay shows what a slower disk would do to all.
            """
    )

    @Argument(
        help:
            "The cases, all but big when none is named: \(BenchCase.allCases.map(\.rawValue).joined(separator: ", ")).")
    var cases: [BenchCase] = BenchCase.allCases.filter { $0 != .big }

    @Flag(help: "One JSON object a line.")
    var json = false

    @Flag(help: "With --json: spreads, sizes and the added delay, too.")
    var details = false

    @Option(help: "Runs of each program.")
    var runs = 5

    @Option(help: "Events instead of each case's own number.")
    var events: Int?

    @Option(help: "Users instead of each case's own number.")
    var users: Int?

    @Option(help: "Queries instead of each case's own number.")
    var queries: Int?

    @Option(help: "Milliseconds added to each sync, of all programs.")
    var syncDelay = 0.0

    @Option(help: "Only this reference, of each case that has it.")
    var filter: String?

    @Flag(help: "Processor time instead of time, for queries on a busy machine; servers' time is not in it.")
    var cpuTime = false

    @Flag(help: "Without references.")
    var alone = false

    @Flag(help: "Without touching memory, and reading the files of stores that are only read, before each run.")
    var coldMemory = false

    @Option(help: "MiB of memory for each program's process and its files' pages, where control groups permit.")
    var memoryLimit: Int?

    @Option(help: "Where the stores are made and removed; the disk to measure.")
    var directory = FileManager.default.temporaryDirectory.path

    @Option(help: "The built references and slowsync.so.")
    var references = ".build/benchmarks-c"

    @Option(help: "The program traylog, for replay and import.")
    var traylog = ".build/release/traylog"

    @Option(help: "JSON lines to import, which may be gzipped, instead of generated ones; default: $TRAYLOG_TRACE.")
    var trace: String?

    func validate() throws {
        guard runs > 0 else { throw ValidationError("--runs: at least 1") }
        guard (events ?? 1) > 0 else { throw ValidationError("--events: at least 1") }
        guard (users ?? 1) > 0 else { throw ValidationError("--users: at least 1") }
        guard (queries ?? 1) > 0 else { throw ValidationError("--queries: at least 1") }
        guard syncDelay >= 0, syncDelay <= 10_000 else { throw ValidationError("--sync-delay: 0 to 10,000 ms") }
        guard FileManager.default.isExecutableFile(atPath: references + "/lmdb_log") else {
            throw ValidationError("--references: no lmdb_log in \(references); run Tools/Benchmarks/setup")
        }
    }

    func run() async throws {
        let bench = try Bench(options: self)
        defer { bench.end() }
        if !json { print(bench.machine) }
        for benchCase in cases {
            for comparison in try bench.compare(benchCase) {
                print(json ? comparison.json(details: details) : comparison.text)
            }
            // Readers of a pipe want to see each case when it is done.
            fflush(nil)
        }
    }
}
