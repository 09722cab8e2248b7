import Foundation

/// The programs that are compared: this one, the references, `traylog` and `jq`.
struct Programs {
    private let options: Run
    private let executable: String
    private let group: ControlGroup?

    init(_ options: Run) throws {
        self.options = options
        guard let executable = Bundle.main.executablePath else {
            throw BenchError("this program does not know its path")
        }
        self.executable = executable
        group = try options.memoryLimit.map { try ControlGroup(memoryBytes: $0 << 20) }
    }

    /// Why a rival cannot be measured here; nil when it can.
    func lack(of rival: Rival) -> String? {
        switch rival.source {
        case .program(let reference, _):
            if !isProgram(path(reference)) { return "it is not installed; Tools/Benchmarks/setup does that" }
            return nil
        case .jq: return Self.search("jq") == nil ? "jq is not installed" : nil
        case .ours, .sameRun, .limit: return nil
        }
    }

    func lack(of benchCase: BenchCase) -> String? {
        guard benchCase == .replay || benchCase == .importing, !isProgram(options.traylog) else { return nil }
        return "there is no \(options.traylog); swift build -c release --product traylog makes it"
    }

    /// Leaves nothing of the runs behind.
    func end() { group?.remove() }

    // MARK: Ours

    func prepare(_ benchCase: BenchCase, users: Int, events: Int, in path: String) throws {
        var program = own(benchCase, users, events, path)
        program.arguments.append("--prepare")
        program.diesBySignal = benchCase == .openKilled
        // Making the store is not measured; but the process that touches a page first has it counted.
        program.environment = [:]
        try program.run()
    }

    func measure(_ benchCase: BenchCase, users: Int, events: Int, queries: Int, in path: String) throws -> Figures {
        switch benchCase {
        case .importing:
            let input = try trace(events: events, beside: path)
            return try program(options.traylog, ["--store", path, "append", "-", "--json"], input: input).time()
        case .replay:
            var figures = try program(options.traylog, ["--store", path, "replay", "--json"]).measure()
            figures.values["perSecond"] = figures.values["eventsPerSecond"]
            return figures
        default:
            var program = own(benchCase, users, events, path)
            program.arguments += ["--queries", "\(queries)"]
            return try program.measure()
        }
    }

    private func own(_ benchCase: BenchCase, _ users: Int, _ events: Int, _ path: String) -> Program {
        program(
            executable,
            ["measure", benchCase.rawValue, "--directory", path, "--users", "\(users)", "--events", "\(events)"])
    }

    // MARK: Theirs

    func measure(_ reference: Reference, _ test: String, _ plan: CasePlan, in path: String) throws -> Figures {
        var arguments = [
            "-c", test, "-o", path, "-n", "\(plan.events)", "-u", "\(plan.users)", "-b", "\(CasePlan.batch)",
            "-t", "\(plan.callers)", "-q", "\(plan.queries)", "-d", plan.distribution.rawValue,
        ]
        if let script = reference.script { arguments.insert(source(script), at: 0) }
        guard let wrapper = reference.wrapper else { return try program(self.path(reference), arguments).measure() }
        return try program(source(wrapper), [self.path(reference)] + arguments).measure()
    }

    func measureJQ(events: Int, in path: String) throws -> Figures {
        try program(Self.search("jq") ?? "jq", ["-c", "."], input: trace(events: events, beside: path)).time()
    }

    func syncsPerSecond(in path: String) throws -> Double {
        try program(self.path(.lmdbLog), ["-c", "sync", "-o", path]).measure().values["syncsPerSecond"] ?? 0
    }

    /// The lines to import; made beside the store where no trace is given.
    private func trace(events: Int, beside path: String) throws -> String {
        let given = options.trace ?? ProcessInfo.processInfo.environment["TRAYLOG_TRACE"]
        if let given, !given.hasSuffix(".gz") { return given }
        let made = URL(fileURLWithPath: path).deletingLastPathComponent().appendingPathComponent("trace.jsonl").path
        if !FileManager.default.fileExists(atPath: made) {
            if let given {
                try program("/bin/sh", ["-c", "gzip -dc -- \"$1\" > \"$2\"", "sh", given, made]).run()
            } else {
                try TraceLines(events: events).write(to: made)
            }
        }
        return made
    }

    private func program(_ path: String, _ arguments: [String], input: String? = nil) -> Program {
        Program(path: path, arguments: arguments, environment: environment, input: input, group: group?.processes)
    }

    private var environment: [String: String] {
        var environment: [String: String] = [:]
        if options.cpuTime { environment[Stopwatch.variable] = "1" }
        if options.syncDelay > 0 {
            environment["LD_PRELOAD"] = URL(fileURLWithPath: options.references + "/slowsync.so").path
            environment["SLOWSYNC_US"] = "\(Int(options.syncDelay * 1_000))"
        }
        return environment
    }

    private func path(_ reference: Reference) -> String {
        URL(fileURLWithPath: options.references + "/" + reference.program).standardized.path
    }

    private func source(_ name: String) -> String {
        URL(fileURLWithPath: options.references + "/" + name).standardized.path
    }

    private func isProgram(_ path: String) -> Bool { FileManager.default.isExecutableFile(atPath: path) }

    private static func search(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return path.split(separator: ":").map { $0 + "/" + name }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
