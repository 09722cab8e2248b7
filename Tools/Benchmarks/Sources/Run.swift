import ArgumentParser
import Foundation

/// Runs cases and their references in alternation and prints the medians.
struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs cases beside their references, in alternation, and prints medians.",
        discussion: """
            Build the references first: make -C Tools/Benchmarks. The commands are made before the clock starts; \
            records have 200 bytes, and the reference, lmdb-log, is a C program that only appends records of that size \
            to LMDB in the same commits. Figures of durable appends mean little without the disk's sync rate \
            beside them; --sync-delay-us shows what a slower disk would do to both.
            """
    )

    @Argument(help: "The cases, all when none is named: bulk-100k, concurrent-64, concurrent-1.")
    var cases: [BenchCase] = BenchCase.allCases

    @Flag(help: "One JSON object a line.")
    var json = false

    @Option(help: "Runs of each program.")
    var runs = 5

    @Option(help: "How many events, as a factor of each case's own number.")
    var scale = 1.0

    @Option(help: "Where the stores are made and removed; the disk to measure.")
    var directory = FileManager.default.temporaryDirectory.path

    @Option(help: "The reference program; slowsync.so lies beside it.")
    var lmdbLog = ".build/benchmarks-c/lmdb_log"

    @Option(help: "Microseconds added to each sync, of all programs.")
    var syncDelayUs = 0

    func validate() throws {
        guard runs > 0 else { throw ValidationError("--runs: at least 1") }
        guard scale > 0, scale <= 1_000 else { throw ValidationError("--scale: above 0, at most 1000") }
        guard syncDelayUs >= 0 else { throw ValidationError("--sync-delay-us: at least 0") }
        guard FileManager.default.isExecutableFile(atPath: lmdbLog) else {
            throw ValidationError("--lmdb-log: no program at \(lmdbLog); run make -C Tools/Benchmarks")
        }
    }

    func run() async throws {
        if !json { print(machine) }
        for benchCase in cases {
            let comparison = try compare(benchCase)
            print(json ? comparison.json : comparison.text)
        }
    }

    private var machine: String {
        let info = ProcessInfo.processInfo
        return """
            \(info.operatingSystemVersionString), \(info.activeProcessorCount) cores, \
            \(info.physicalMemory >> 30) GiB; durable; added to each sync: \(syncDelayUs) µs
            """
    }

    private func compare(_ benchCase: BenchCase) throws -> Comparison {
        let events = max(BenchCase.batch, Int(Double(benchCase.events) * scale))
        var comparison = Comparison(benchCase: benchCase, reference: "lmdb-log", events: events)
        for run in 0..<runs {
            // Each goes first every second time: a machine that gets slower or faster favours neither.
            for isOurs in run.isMultiple(of: 2) ? [true, false] : [false, true] {
                try withNewDirectory { path in
                    if isOurs {
                        let result = try ours(benchCase, events, path).measure()
                        comparison.ours.append(result.eventsPerSecond)
                        comparison.closeSeconds.append(result.closeSeconds ?? 0)
                    } else {
                        let result = try theirs(benchCase, events, path).measure()
                        comparison.theirs.append(result.eventsPerSecond)
                        comparison.syncsPerSecond.append(result.syncsPerSecond ?? 0)
                    }
                }
            }
            comparison.runs += 1
        }
        return comparison
    }

    private func ours(_ benchCase: BenchCase, _ events: Int, _ path: String) throws -> Program {
        guard let executable = Bundle.main.executablePath else {
            throw BenchError("this program does not know its path")
        }
        return Program(
            path: executable,
            arguments: ["measure", benchCase.rawValue, "--events", "\(events)", "--directory", path],
            environment: slowSync
        )
    }

    private func theirs(_ benchCase: BenchCase, _ events: Int, _ path: String) throws -> Program {
        Program(
            path: lmdbLog,
            arguments: ["-o", path, "-n", "\(events)", "-s", "\(Workload.recordBytes)"] + benchCase.logArguments,
            environment: slowSync
        )
    }

    private var slowSync: [String: String] {
        guard syncDelayUs > 0 else { return [:] }
        let library = URL(fileURLWithPath: lmdbLog).deletingLastPathComponent().appendingPathComponent("slowsync.so")
        return ["LD_PRELOAD": library.path, "SLOWSYNC_US": "\(syncDelayUs)"]
    }

    private func withNewDirectory(_ body: (String) throws -> Void) throws {
        let path = URL(fileURLWithPath: directory).appendingPathComponent("traylog-bench-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path + "/store")
    }
}
