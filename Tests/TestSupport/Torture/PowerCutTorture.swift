/// Power cuts: every workload is recorded in both modes, and cut at points spread over each recording.
package enum PowerCutTorture {
    private static let steps = 60

    package static func run(_ count: Int, seed: UInt64) throws -> TortureReport {
        var report = TortureReport(kind: "power cuts", seed: seed)
        let recordings = PowerCutWorkload.ofAStore.flatMap { [($0, false), ($0, true)] } + [(.outbox, false)]
        for (index, (workload, isRelaxed)) in recordings.enumerated() {
            let points = count * (index + 1) / recordings.count - count * index / recordings.count
            guard points > 0 else { continue }
            do {
                let found = try Recorder.withRecording(workload, isRelaxed: isRelaxed, seed: seed, steps: steps) {
                    try $0.check(points)
                }
                report.points += found.points
                report.acknowledged += found.events
            } catch let failure as Recorder.Failure {
                report.count(failure)
            }
        }
        return report
    }
}

extension TortureReport {
    /// The rest of a recording is not checked after its first failure.
    fileprivate mutating func count(_ failure: Recorder.Failure) {
        points += 1
        if failure.description.contains("ended by signal") {
            signals += 1
        } else if failure.description.contains("which was acknowledged") {
            lost += 1
        } else {
            wrong += 1
        }
        TortureLine.complain("\(kind): \(failure)")
    }
}
