import Foundation

/// Runs one case after the other: ours and each rival in turn, as often as asked.
struct Bench {
    let options: Run
    private let programs: Programs

    init(options: Run) throws {
        self.options = options
        programs = try Programs(options)
    }

    func end() { programs.end() }

    var machine: String {
        let info = ProcessInfo.processInfo
        let bound = options.memoryLimit.map { "; memory bound: \($0) MiB" } ?? ""
        return """
            \(info.operatingSystemVersionString), \(info.activeProcessorCount) cores, \
            \(info.physicalMemory >> 30) GiB; added to each sync: \(options.syncDelay) ms\(bound)
            """
    }

    func compare(_ benchCase: BenchCase) throws -> [Comparison] {
        var plan = benchCase.plan
        plan.events = try options.events ?? affordable(plan.events)
        plan.users = options.users ?? (benchCase == .big ? max(1, plan.events / 10) : plan.users)
        plan.queries = options.queries ?? plan.queries
        let rivals = plan.rivals.filter { rival in
            guard options.filter == nil || options.filter == rival.name else { return false }
            guard let lack = programs.lack(of: rival) else { return true }
            note("\(benchCase.rawValue): \(rival.name) is left out: \(lack)")
            return false
        }
        if let lack = programs.lack(of: benchCase) {
            note("\(benchCase.rawValue) is left out: \(lack)")
            return []
        }
        if options.alone {
            return try Contest(benchCase, plan, [Rival(name: "none", source: .limit([:]))], programs, options).run()
        }
        guard !rivals.isEmpty else { return [] }
        return try Contest(benchCase, plan, rivals, programs, options).run()
    }

    /// A third of the free disk at most, at 300 bytes an event.
    private func affordable(_ events: Int) throws -> Int {
        let attributes = try FileManager.default.attributesOfFileSystem(forPath: options.directory)
        guard let free = attributes[.systemFreeSize] as? NSNumber else { return events }
        return min(events, max(CasePlan.batch, Int(free.doubleValue / 3 / 300)))
    }

    private func note(_ text: String) {
        FileHandle.standardError.write(Data("note: \(text)\n".utf8))
    }
}
