import Foundation

/// Fault injection: every write and sync of some workloads fails, one by one.
package enum FaultTorture {
    /// - Parameter count: how many points, spread over all there are; nil for all.
    package static func run(_ count: Int?, seed: UInt64) throws -> TortureReport {
        var report = TortureReport(kind: "faults", seed: seed)
        try withTemporaryDirectory { directory in
            let library = directory + "/faults.so"
            try SharedLibrary.compile(FaultInjector.source, to: library)
            let plan = directory + "/plan.json"
            let environment = ["LD_PRELOAD": library]
            var arguments = ["plan-faults", plan, "\(seed)"]
            if let count { arguments.append("\(count)") }
            _ = try TortureWorker(arguments: arguments, environment: environment).run { _ in }
            let points = try JSONDecoder().decode([FaultPoint].self, from: Data(contentsOf: URL(filePath: plan)))
            try report.run(points.count) { next in
                TortureWorker(arguments: ["work-faults", plan, "\(next)"], environment: environment)
            }
        }
        return report
    }

    /// Writes the points to a file; in a process with the injector preloaded.
    package static func plan(_ path: String, seed: UInt64, count: Int?) throws {
        guard let injector = FaultInjector() else { throw SharedLibrary.Failure(description: "no injector") }
        var points = try FaultPoint.all(seed: seed) { point in
            try withTemporaryDirectory { directory in
                var run = FaultRun(point, directory: directory, injector: injector)
                _ = try run.run()
                return injector.count
            }
        }
        if let count, count < points.count {
            var random = SeededRandom(seed: seed)
            points.shuffle(using: &random)
            points.removeLast(points.count - count)
        }
        try JSONEncoder().encode(points).write(to: URL(filePath: path))
    }

    /// Runs the points of a plan from a given one on; in a process with the injector preloaded.
    package static func work(_ plan: String, from first: Int) throws {
        guard let injector = FaultInjector() else { throw SharedLibrary.Failure(description: "no injector") }
        let points = try JSONDecoder().decode([FaultPoint].self, from: Data(contentsOf: URL(filePath: plan)))
        for point in points[first...] {
            TortureLine(point.description) {
                try withTemporaryDirectory { directory in
                    var run = FaultRun(point, directory: directory, injector: injector)
                    return try run.run()
                }
            }.say()
        }
    }
}
