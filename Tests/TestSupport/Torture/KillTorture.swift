import Foundation
import TraylogDomain

/// Kills: a writer, or a command that changes the store, dies at any moment, again and again on one growing store.
package enum KillTorture {
    /// The process to kill; a new workload needs a case here, and a round in ``kill(_:in:)``.
    private enum Workload: CaseIterable {
        /// The program, while it appends.
        case program
        /// A process that embeds the store, while it appends with hardly any tail.
        case library
        /// A command of ``maintenance``.
        case task
        /// `compact` or `replay --rebuild`, on a store that is compacted again and again.
        case rewrite
        /// `erase`, on a store with archives.
        case erasure
    }

    /// The stores whose writers are killed in turn.
    private struct Victims {
        var loop: KillLoop
        var compacted: CompactedLife
        var erased: CompactedLife
        var kills = 0

        init(seed: UInt64, directory: String) throws {
            for name in ["compacted", "erased"] {
                try FileManager.default.createDirectory(
                    atPath: directory + "/" + name, withIntermediateDirectories: true)
            }
            loop = KillLoop(seed: seed, directory: directory + "/store")
            compacted = CompactedLife(seed: seed, directory: directory + "/compacted")
            erased = CompactedLife(seed: seed, directory: directory + "/erased")
        }
    }

    /// Commands that leave what a store answers as it is; `COPY` is a directory that does not exist.
    private static let maintenance = [["replay", "--rebuild"], ["backup", "COPY"], ["verify"]]
    private static let killsPerStore = 25

    package static func run(_ count: Int, seed: UInt64) throws -> TortureReport {
        var report = TortureReport(kind: "kills", seed: seed)
        try report.run(count) { next in
            TortureWorker(arguments: ["work-kills", "\(Int(bitPattern: UInt(seed)))", "\(next)", "\(count)"])
        }
        return report
    }

    /// Runs the kills from a given one on.
    package static func work(seed: UInt64, from first: Int, to end: Int) throws {
        var next = first
        while next < end {
            try withTemporaryDirectory { directory in
                let seed = seed &+ UInt64(next)
                var victims = try Victims(seed: seed, directory: directory)
                for _ in 0..<killsPerStore where next < end {
                    next += 1
                    victims.kills += 1
                    let line = TortureLine("stores of seed \(seed), kill \(victims.kills)") {
                        try kill(&victims, in: directory)
                    }
                    line.say()
                    // Once a model is wrong, it stays wrong.
                    if line.note != nil { break }
                }
            }
        }
    }

    /// - Returns: the number of acknowledged events looked for.
    private static func kill(_ victims: inout Victims, in directory: String) throws -> UInt64 {
        let workload = victims.kills == 1 ? .program : victims.loop.random.pick(Workload.allCases)
        switch workload {
        case .rewrite:
            try within("compaction") { try victims.compacted.killRewrite() }
            return victims.compacted.log.head.rawValue
        case .erasure:
            try within("erasure") { try victims.erased.killErasure(victims.kills) }
            return 0
        case .program: return try round(&victims.loop) { try KilledProgram.run(&$0) }
        case .library: return try round(&victims.loop) { try killLibrary(&$0, in: directory) }
        case .task: return try round(&victims.loop) { try killMaintenance(&$0, in: directory) }
        }
    }

    private static func round(_ loop: inout KillLoop, _ run: (inout KillLoop) throws -> Void) throws -> UInt64 {
        loop.beginRound()
        try run(&loop)
        try loop.check()
        return loop.base.head.rawValue
    }

    private static func killLibrary(_ loop: inout KillLoop, in directory: String) throws {
        let child = try KilledChild(&loop, in: directory)
        let file = directory + "/child.json"
        try JSONEncoder().encode(child).write(to: URL(filePath: file))
        _ = try TortureWorker(arguments: ["work-killed-child", file]).run { _ in }
        try child.hearAnswers(&loop)
    }

    private static func killMaintenance(_ loop: inout KillLoop, in directory: String) throws {
        let copy = directory + "/copy"
        let task = loop.random.pick(maintenance).map { $0 == "COPY" ? copy : $0 }
        try killed(task, store: loop.directory, afterMicroseconds: loop.random.below(60_000))
        try? FileManager.default.removeItem(atPath: copy)
    }

    private static func killed(_ command: [String], store: String, afterMicroseconds life: Int) throws {
        let process = try TraylogProgram(store: store).process(command)
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        usleep(UInt32(life))
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// The child process of ``Workload/library``; it kills itself.
    package static func runChild(_ file: String) throws {
        try JSONDecoder().decode(KilledChild.self, from: Data(contentsOf: URL(filePath: file))).run()
    }
}
