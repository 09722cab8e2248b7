import Foundation
import TestSupport

/// What `Tools/torture` runs: one kind of torture, whose outcome is the last line of output.
///
///     traylog-torture faults SEED [COUNT]     every write and sync fails, one by one
///
/// Points are done by a child, so that one that dies costs one point. The other verbs are those of the children.
@main
enum TortureProgram {
    static func main() {
        do {
            try run()
        } catch {
            // Not by a trap, which would look like a death that is to be counted.
            FileHandle.standardError.write(Data("traylog-torture: \(error)\n".utf8))
            exit(70)
        }
    }

    private static func run() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let numbers = arguments.compactMap { Int($0) }
        let seed = UInt64(bitPattern: Int64(numbers.first ?? 0))
        switch (arguments.first, numbers.count) {
        case ("faults", 1...2): try end(FaultTorture.run(numbers.dropFirst().first, seed: seed))
        case ("plan-faults", 1...2):
            try FaultTorture.plan(arguments[1], seed: seed, count: numbers.dropFirst().first)
        case ("work-faults", 1): try FaultTorture.work(arguments[1], from: numbers[0])
        default: throw Usage()
        }
    }

    private static func end(_ report: TortureReport) throws -> Never {
        print(try report.json)
        exit(report.isClean ? 0 : 1)
    }

    private struct Usage: Error {}
}
