import Foundation

/// The runs of one case.
struct Contest {
    private let benchCase: BenchCase
    private let plan: CasePlan
    private let rivals: [Rival]
    private let programs: Programs
    private let options: Run

    init(_ benchCase: BenchCase, _ plan: CasePlan, _ rivals: [Rival], _ programs: Programs, _ options: Run) {
        self.benchCase = benchCase
        self.plan = plan
        self.rivals = rivals
        self.programs = programs
        self.options = options
    }

    func run() throws -> [Comparison] {
        let directory = try RunDirectory(under: plan.inMemory ? "/dev/shm" : options.directory)
        defer { directory.remove() }
        var ours: [Figures] = []
        var theirs: [String: [Figures]] = [:]
        var syncs = Series()
        for round in 0..<options.runs {
            syncs.append(try programs.syncsPerSecond(in: directory.path))
            // Each goes first in turn: a machine that gets slower or faster favours nobody.
            for place in 0...rivals.count {
                let index = (place + round) % (rivals.count + 1)
                if index == rivals.count {
                    ours.append(try own(benchCase, plan.users, plan.events, "ours", directory))
                } else if let figures = try measure(rivals[index], directory) {
                    theirs[rivals[index].name, default: []].append(figures)
                }
            }
        }
        return comparisons(ours, theirs, syncs)
    }

    private func own(
        _ benchCase: BenchCase, _ users: Int, _ events: Int, _ name: String, _ directory: RunDirectory
    ) throws -> Figures {
        let path = plan.keepsStore ? directory.kept(name) : try directory.fresh()
        if plan.keepsStore, !FileManager.default.fileExists(atPath: path) {
            try programs.prepare(benchCase, users: users, events: events, in: path)
        }
        makeReady(path)
        return try programs.measure(
            benchCase, users: users, events: events, queries: plan.queries, in: path)
    }

    private func measure(_ rival: Rival, _ directory: RunDirectory) throws -> Figures? {
        switch rival.source {
        case .program(let reference, let test):
            let path = plan.keepsStore ? directory.kept(rival.name) : try directory.fresh()
            makeReady(path)
            return try programs.measure(reference, test, plan, in: path)
        case .ours(let other, let users, let events):
            return try own(other, users ?? plan.users, events ?? plan.events, rival.name, directory)
        case .jq: return try programs.measureJQ(events: plan.events, in: directory.fresh())
        case .sameRun, .limit: return nil
        }
    }

    /// Leaves the machine as a program finds it that ran a moment ago.
    private func makeReady(_ path: String) {
        guard !options.coldMemory else { return }
        GuestMemory.touch()
        if plan.keepsStore { GuestMemory.readFiles(path) }
    }

    private func comparisons(_ ours: [Figures], _ theirs: [String: [Figures]], _ syncs: Series) -> [Comparison] {
        rivals.flatMap { rival in
            (rival.metrics ?? plan.metrics).map { metric in
                var comparison = Comparison(
                    name: metric.name ?? benchCase.rawValue, reference: metric.reference ?? rival.name, metric: metric,
                    events: plan.events, users: plan.users, runs: options.runs, syncDelay: options.syncDelay)
                comparison.syncs = syncs
                comparison.ours = Series(ours.compactMap { $0.values[metric.key] })
                switch rival.source {
                case .limit(let bounds): comparison.theirs = Series([bounds[metric.key] ?? 0])
                case .sameRun: comparison.theirs = Series(ours.compactMap { $0.values[metric.theirKey ?? metric.key] })
                default: comparison.theirs = Series((theirs[rival.name] ?? []).compactMap { $0.values[metric.key] })
                }
                return comparison
            }
        }
    }
}
