import Foundation
import TestSupport

/// What a document shows of a shell: commands after `$ `, and under each what it prints.
struct Walkthrough {
    struct Step {
        let command: String
        let output: String
    }

    let steps: [Step]

    init(_ document: Document) {
        let blocks = document.text.matches(of: /(?m)^```console\n((?s:.*?))^```$/).map { String($0.1) }
        steps = Self.steps(in: blocks.joined())
    }

    static func steps(in text: String) -> [Step] {
        text.split(separator: "$ ", omittingEmptySubsequences: true).map { text in
            let end = text.firstIndex(of: "\n") ?? text.endIndex
            return Step(command: String(text[..<end]), output: String(text[end...].dropFirst()))
        }
    }

    /// Runs all of them in one shell, in a new directory that has `elsewhere` in it.
    func run() throws -> [Step] {
        let directory = FileManager.default.temporaryDirectory.appending(path: "traylog-walk-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: directory.appending(path: "elsewhere"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let mark = "=== next ==="
        let script = "set -e\n" + steps.map { "\($0.command)\necho '\(mark)'\n" }.joined()
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", script]
        process.currentDirectoryURL = directory
        let program = try TraylogProgram.location(of: "traylog").deletingLastPathComponent().path
        process.environment = ["PATH": "\(program):/usr/bin:/bin", "TZ": "UTC"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let outputs = text.split(separator: mark + "\n", omittingEmptySubsequences: false)
        return zip(steps, outputs).map { Step(command: $0.command, output: String($1)) }
    }
}

extension Document {
    /// The text with what the commands of its walkthrough print now.
    func showing(_ run: [Walkthrough.Step]) -> String {
        var (rest, run) = (text[...], run[...])
        var renewed = ""
        while let block = rest.firstMatch(of: /(?m)^```console\n((?s:.*?))^```$/) {
            let count = Walkthrough.steps(in: String(block.1)).count
            let shown = run.prefix(count).map { "$ \($0.command)\n\($0.output)" }.joined()
            renewed += rest[..<block.range.lowerBound] + "```console\n\(shown)```"
            (rest, run) = (rest[block.range.upperBound...], run.dropFirst(count))
        }
        return renewed + rest
    }
}

extension Walkthrough.Step {
    /// Without what is another each time: hashes, keys, signatures and times.
    var comparable: String {
        output
            .replacing(/[0-9a-f]{64}/, with: "HASH")
            .replacing(/\+[0-9a-f]{8}\+[A-Za-z0-9+\/=]{40,}/, with: "+KEY")
            .replacing(/[A-Za-z0-9+\/]{42,}={0,2}/, with: "BASE64")
            .replacing(/\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+Z)?/, with: "TIME")
            .replacing(/[\d.]+ [KM]iB/, with: "SIZE")
    }
}
