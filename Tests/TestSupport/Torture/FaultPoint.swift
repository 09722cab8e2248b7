/// One operation of one workload, and how it fails.
package struct FaultPoint: Codable, Hashable, Sendable {
    package var workload: PowerCutWorkload
    package var isRelaxed: Bool
    package var seed: UInt64
    package var steps: Int
    /// Which operation; 0 for none.
    package var operation: Int
    package var fault: Fault

    package var description: String {
        """
        \(workload), \(isRelaxed ? "relaxed" : "durable"), seed \(seed), operation \(operation), \(fault.error) \
        \(fault.effect) \(fault.lasts ? "for good" : "once")
        """
    }

    /// Every operation of some workloads with every fault.
    ///
    /// - Parameter count: the number of a workload's operations, for a point at which none fails.
    package static func all(seed: UInt64, count: (FaultPoint) throws -> Int) throws -> [FaultPoint] {
        let workloads: [(PowerCutWorkload, steps: Int)] = [
            (.commands, 10), (.batches, 6), (.growing, 6), (.reopening, 8), (.projections, 6),
        ]
        var points: [FaultPoint] = []
        for (index, (workload, steps)) in workloads.enumerated() {
            for isRelaxed in [false, true] {
                var point = FaultPoint(
                    workload: workload, isRelaxed: isRelaxed, seed: seed &+ UInt64(index), steps: steps, operation: 0,
                    fault: Fault.all[0])
                let operations = try count(point)
                for operation in 1...max(operations, 1) {
                    point.operation = operation
                    points += Fault.all.map { fault in
                        point.fault = fault
                        return point
                    }
                }
            }
        }
        return points
    }
}
