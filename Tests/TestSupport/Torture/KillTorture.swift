import Foundation

/// Kills: a writer, or a command that changes the store, dies at any moment, again and again on one growing store.
package enum KillTorture {
    /// What is killed; a new workload is a case, and its round in ``run(_:_:in:)``.
    private enum Workload: CaseIterable {
        /// The program, while it appends.
        case program
        /// A process that embeds the store, while it appends with hardly any tail.
        case library
        /// A command of ``chores``.
        case chore
    }

    /// Commands that leave what a store answers as it is; `COPY` is a directory that does not exist.
    private static let chores = [["replay", "--rebuild"], ["backup", "COPY"], ["verify"]]
    private static let killsPerStore = 25
    /// The same of compactions and erasures, which come first on stores of their own.
    private static let killsPerRewritten = 3

    package static func run(_ count: Int, seed: UInt64) throws -> TortureReport {
        var report = TortureReport(kind: "kills", seed: seed)
        try report.run(count) { next in
            TortureWorker(arguments: ["work-kills", "\(Int(bitPattern: UInt(seed)))", "\(next)", "\(count)"])
        }
        return report
    }

    /// Does the kills from one on.
    package static func work(seed: UInt64, from first: Int, to end: Int) throws {
        var next = first
        while next < end {
            try killRewrites(seed: seed, &next, end)
            try withTemporaryDirectory { directory in
                var loop = KillLoop(seed: seed &+ UInt64(next), directory: directory + "/store")
                for _ in 0..<killsPerStore where next < end {
                    next += 1
                    let line = TortureLine("store of seed \(loop.seed), kill \(loop.round + 1)") {
                        try kill(&loop, in: directory)
                    }
                    line.say()
                    // A model that is wrong once stays so.
                    if line.note != nil { break }
                }
            }
        }
    }

    /// Kills a few compactions of one store, and a few erasures of another one.
    private static func killRewrites(seed: UInt64, _ next: inout Int, _ end: Int) throws {
        for isErasure in [false, true] where next < end {
            try withTemporaryDirectory { directory in
                var life = CompactedLife(seed: seed &+ UInt64(next), directory: directory)
                try life.append(300)
                for round in 1...killsPerRewritten where next < end {
                    next += 1
                    let name = isErasure ? "erasure" : "compaction"
                    let line = TortureLine("\(name), store of seed \(seed &+ UInt64(next)), kill \(round)") {
                        if isErasure { try life.killErasure(round) } else { _ = try life.killCompaction(isLive: true) }
                        return life.log.head.rawValue
                    }
                    line.say()
                    if line.note != nil { break }
                }
            }
        }
    }

    private static func kill(_ loop: inout KillLoop, in directory: String) throws -> UInt64 {
        loop.beginRound()
        let workloads = Workload.allCases
        try run(loop.round == 1 ? .program : loop.random.pick(workloads), &loop, in: directory)
        try loop.check()
        return loop.base.head.rawValue
    }

    private static func run(_ workload: Workload, _ loop: inout KillLoop, in directory: String) throws {
        switch workload {
        case .program: try KilledProgram.run(&loop)
        case .library:
            let child = try KilledChild(&loop, in: directory)
            let file = directory + "/child.json"
            try JSONEncoder().encode(child).write(to: URL(filePath: file))
            _ = try TortureWorker(arguments: ["work-killed-child", file]).run { _ in }
            try child.hearAnswers(&loop)
        case .chore:
            let copy = directory + "/copy"
            let chore = loop.random.pick(chores).map { $0 == "COPY" ? copy : $0 }
            try killed(chore, store: loop.directory, afterMicroseconds: loop.random.below(60_000))
            try? FileManager.default.removeItem(atPath: copy)
        }
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

    /// What ``Workload/library`` starts; it kills itself.
    package static func runChild(_ file: String) throws {
        try JSONDecoder().decode(KilledChild.self, from: Data(contentsOf: URL(filePath: file))).run()
    }
}
