import Foundation
import TestSupport
import Traylog
import TraylogDomain

/// The program of the damage tests.
///
///     traylog-damage run KIND COUNT SEED [STEPS]   flips, structure or cuts; one line says how it went
///     traylog-damage ask STORE HEAD                asks a store everything, an answer on each line
@main
enum DamageProgram {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.count == 3, arguments[0] == "ask", let head = UInt64(arguments[2]) {
            return Questions(path: arguments[1], head: Seq(head)) { say($0.text) }.ask()
        }
        guard arguments.count >= 4, arguments[0] == "run", let kind = Damage.Kind(rawValue: arguments[1]),
            let count = Int(arguments[2]), let seed = UInt64(arguments[3])
        else { throw Usage() }
        let steps = arguments.count > 4 ? Int(arguments[4]) ?? 1_500 : 1_500
        let isSound = try withTemporaryDirectory { directory in
            let loop = try DamageLoop(directory: directory, seed: seed, steps: steps)
            let report = try loop.run(kind, count: count, programEvery: 10)
            for failure in report.failures { FileHandle.standardError.write(Data("\(failure)\n".utf8)) }
            say(report.summary)
            return report.failures.isEmpty
        }
        if !isSound { exit(1) }
    }

    private static func say(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }

    private struct Usage: Error {}
}
