import Foundation
import TestSupport

/// What `Tools/torture` runs: one kind of torture, whose outcome is the last line of output.
///
///     traylog-torture power-cuts SEED COUNT
///     traylog-torture kills SEED COUNT
///     traylog-torture faults SEED [COUNT]     every write and sync fails, one by one
///     traylog-torture full-disk SEED COUNT    as root
///     traylog-torture opening SEED EVENTS     how long a store of that size takes to open after a kill
///
/// Points are done by a child, so that one that dies costs one point. The other verbs are those of the children.
@main
enum TortureProgram {
    static func main() {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if arguments.first?.contains("-faults") == true || arguments.first?.hasPrefix("work-") == true {
                try work(arguments)
            } else {
                let report = try run(arguments)
                print(try report.json)
                exit(report.isClean ? 0 : 1)
            }
        } catch {
            // Not by a trap, which would look like a death that is to be counted.
            TortureLine.complain("traylog-torture: \(error)")
            exit(70)
        }
    }

    private static func run(_ arguments: [String]) throws -> TortureReport {
        let numbers = arguments.compactMap { Int($0) }
        guard let kind = arguments.first, let first = numbers.first else { throw Usage() }
        let seed = UInt64(bitPattern: Int64(first))
        switch (kind, numbers.dropFirst().first) {
        case ("power-cuts", let count?): return try PowerCutTorture.run(count, seed: seed)
        case ("kills", let count?): return try KillTorture.run(count, seed: seed)
        case ("faults", let count): return try FaultTorture.run(count, seed: seed)
        case ("full-disk", let count?): return try FullDiskTorture.run(count, seed: seed)
        case ("opening", let events?): return try OpeningTorture.run(events, seed: seed)
        default: throw Usage()
        }
    }

    private static func work(_ arguments: [String]) throws {
        let path = arguments.count > 1 ? arguments[1] : ""
        let numbers = arguments.dropFirst().compactMap { Int($0) }
        let seed = UInt64(bitPattern: Int64(numbers.first ?? 0))
        switch (arguments[0], numbers.count) {
        case ("plan-faults", 1...2):
            try FaultTorture.plan(path, seed: seed, count: numbers.dropFirst().first)
        case ("work-faults", 1): try FaultTorture.work(path, from: numbers[0])
        case ("work-kills", 3): try KillTorture.work(seed: seed, from: numbers[1], to: numbers[2])
        case ("work-killed-child", 0): try KillTorture.runChild(path)
        case ("work-full-disk", 2): FullDiskTorture.work(path, seed: seed, count: numbers[1])
        case ("work-open-reader", 0): try OpeningTorture.open(path, forWriting: false)
        case ("work-open-writer", 0): try OpeningTorture.open(path, forWriting: true)
        case ("work-fill", 1): try OpeningTorture.fill(path, numbers[0])
        default: throw Usage()
        }
    }

    private struct Usage: Error {}
}
