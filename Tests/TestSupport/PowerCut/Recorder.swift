import Foundation

/// Runs the program of the power-cut tests: once with the recorder under it, and then to check what it recorded.
package struct Recorder {
    /// A run's standard output and error.
    package struct Run: Sendable {
        package var status: Int32
        package var isSignal: Bool
        package var output: String

        package var succeeded: Bool { status == 0 && !isSignal }
        package var lastLine: String { output.split(separator: "\n").last.map(String.init) ?? "" }
    }

    package struct Failure: Error, CustomStringConvertible {
        package var description: String
    }

    private static let source = SharedLibrary.source("CrashTests/PowerCut/recorder.c")

    package let recording: Recording

    private var directory: String { recording.directory }

    /// Records the workload in a new directory, which is removed afterwards unless `body` throws.
    package static func withRecording<Result>(
        _ workload: PowerCutWorkload, isRelaxed: Bool, seed: UInt64, steps: Int, _ body: (Recorder) throws -> Result
    ) throws -> Result {
        let directory = FileManager.default.temporaryDirectory.appending(path: "traylog-powercut-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let recorder = Recorder(
            recording: Recording(
                directory: directory.path, workload: workload, isRelaxed: isRelaxed, seed: seed, steps: steps))
        try recorder.record()
        let result = try body(recorder)
        try FileManager.default.removeItem(at: directory)
        return result
    }

    private func record() throws {
        try write(recording)
        let library = directory + "/recorder.so"
        try SharedLibrary.compile(Self.source, to: library)
        let run = try run(
            ["record", directory],
            ["LD_PRELOAD": library, "POWERCUT": directory, "POWERCUT_STORE": recording.storeName])
        guard run.succeeded else { throw Failure(description: "\(directory): status \(run.status): \(run.output)") }
    }

    private func write(_ recording: Recording) throws {
        try JSONEncoder().encode(recording).write(to: URL(filePath: directory + "/recording.json"))
    }

    /// Checks so many points, if wanted only such before the first acknowledgement.
    ///
    /// - Throws: ``Failure`` with the point at which it ended and how to repeat it.
    package func check(_ points: Int, isCreation: Bool = false) throws -> PowerCutReport {
        let run = try run([isCreation ? "creation" : "check", directory, "\(points)"])
        guard run.succeeded else { throw Failure(description: explanation(run)) }
        return try JSONDecoder().decode(PowerCutReport.self, from: Data(run.lastLine.utf8))
    }

    /// The same with a fault, or with the promises of the other mode, for what has to fail.
    package func checked(
        _ points: Int, fault: PlantedFault = .none, isRelaxed: Bool? = nil
    ) throws -> Run {
        var promised = recording
        promised.isRelaxed = isRelaxed ?? recording.isRelaxed
        try write(promised)
        return try run(["check", directory, "\(points)", fault.rawValue])
    }

    package func points(in run: Run) -> [CutPoint] {
        run.output.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 4, words[0] == "point", let events = Int(words[1]), let variation = Int(words[2])
            else { return nil }
            return CutPoint(events: events, variation: variation)
        }
    }

    package func check(_ point: CutPoint, fault: PlantedFault) throws -> Run {
        try run(["point", directory, "\(point.events)", "\(point.variation)", fault.rawValue])
    }

    private func explanation(_ run: Run) -> String {
        let end = run.isSignal ? "ended by signal \(run.status)" : run.lastLine
        let point = points(in: run).last.map { "\($0.events) \($0.variation)" } ?? "none yet"
        return """
            \(recording.workload), \(recording.isRelaxed ? "relaxed" : "durable"), seed \(recording.seed), point \
            \(point): \(end)
            what the power cut left: \(directory)/cut-\(point.replacing(" ", with: "-"))
            once more: .build/debug/traylog-powercut point \(directory) \(point)
            """
    }

    private func run(_ arguments: [String], _ environment: [String: String] = [:]) throws -> Run {
        try Self.run(
            TraylogProgram.location(of: "traylog-powercut"), arguments, environment, output: directory + "/output")
    }

    private static func run(
        _ program: URL, _ arguments: [String], _ environment: [String: String] = [:], output: String
    ) throws -> Run {
        // A file instead of a pipe, which may be too small.
        try Data().write(to: URL(filePath: output))
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.environment = ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "TZ": "UTC"]
            .merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: URL(filePath: output))
        process.standardError = process.standardOutput
        try process.run()
        process.waitUntilExit()
        return Run(
            status: process.terminationStatus, isSignal: process.terminationReason == .uncaughtSignal,
            output: String(decoding: try Data(contentsOf: URL(filePath: output)), as: UTF8.self))
    }
}
