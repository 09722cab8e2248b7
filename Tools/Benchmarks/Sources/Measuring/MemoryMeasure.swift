import Foundation
import Traylog

/// The process's own memory (not the mapped file) at most while events are appended.
struct MemoryMeasure {
    let setup: Setup

    init(_ setup: Setup) { self.setup = setup }

    func run() throws -> Figures {
        let store = try Store.open(setup.directory, options: setup.options).blocking
        var workload = setup.workload
        let before = try Self.anonymousBytes()
        var most = 0.0
        for start in stride(from: 0, to: setup.events, by: CasePlan.batch) {
            _ = try store.perform(workload.commands(min(CasePlan.batch, setup.events - start)))
            if start / CasePlan.batch % 20 == 0 { most = max(most, try Self.anonymousBytes()) }
        }
        store.close()
        return Figures(["bytes": max(most, try Self.anonymousBytes()) - before])
    }

    private static func anonymousBytes() throws -> Double {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
        guard let kibibytes = line?.split(whereSeparator: { !$0.isNumber }).first.flatMap({ Double($0) }) else {
            throw BenchError("this system does not say how much memory a process has")
        }
        return kibibytes * 1_024
    }
}
