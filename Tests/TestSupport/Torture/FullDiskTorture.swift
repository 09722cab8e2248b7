/// Full disks: stores on small file systems that fill up and get room again.
package enum FullDiskTorture {
    /// - Parameter count: points, shared by the file systems that can be mounted here.
    package static func run(_ count: Int, seed: UInt64) throws -> TortureReport {
        var report = TortureReport(kind: "full disk", seed: seed)
        let possible = SmallFileSystem.allCases.filter { system in
            guard let obstacle = system.obstacle else { return true }
            report.skipped = [report.skipped, obstacle].compactMap { $0 }.joined(separator: "; ")
            return false
        }
        for (index, system) in possible.enumerated() {
            let points = count * (index + 1) / possible.count - count * index / possible.count
            try system.withMounted { mount in
                try report.run(points) { next in
                    let first = seed &+ UInt64(index * count + next)
                    return TortureWorker(arguments: [
                        "work-full-disk", mount, "\(Int(bitPattern: UInt(first)))", "\(points - next)",
                    ])
                }
            }
        }
        return report
    }

    package static func work(_ mount: String, seed: UInt64, count: Int) {
        for number in 0..<count {
            let seed = seed &+ UInt64(number)
            TortureLine("seed \(seed)") {
                var run = FullDiskRun(seed: seed, directory: mount)
                return try run.run()
            }.say()
        }
    }
}
