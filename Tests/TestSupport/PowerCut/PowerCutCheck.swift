import Foundation
@_spi(Operations) import Traylog
import TraylogDomain

/// Opens what power cuts leave of one recorded store, and holds it against what the recorded program was told.
package struct PowerCutCheck {
    private let recording: Recording
    private let trace: [RecordedEvent]
    /// The log at the end of the recording.
    private let log: [Event]
    /// Where commits ended: nothing half-done may show.
    private let commits: Set<UInt64>
    /// Models of the first parts of the log, by head.
    private var models: [UInt64: NaiveStore] = [:]

    /// - Throws: a ``Difference`` when the trace does not make the file that the recorded program left.
    package init(_ recording: Recording) throws {
        self.recording = recording
        trace = try recording.trace()
        var disk = SimulatedDisk(isRelaxed: recording.isRelaxed)
        for event in trace { try disk.apply(event) }
        var random = SeededRandom(seed: 0)
        let file = try Data(contentsOf: URL(filePath: StoreFiles.data(of: recording.store)))
        guard disk.data.cut(.everything, &random) == file else {
            throw Difference(path: ["all recorded writes"], expected: "the file of the store", found: "another one")
        }
        // It is emptied when the store is closed.
        let journal = FileManager.default.contents(atPath: StoreFiles.journal(of: recording.store)) ?? Data()
        guard disk.journal.cut(.everything, &random) ?? Data() == journal else {
            throw Difference(path: ["all recorded writes"], expected: "the journal", found: "another one")
        }
        guard recording.workload != .outbox else {
            (log, commits) = ([], [])
            return
        }
        commits = trace.reduce(into: [0]) { heads, event in
            if case .acknowledged(let head) = event { heads.insert(head) }
        }
        let reader = try StoreReader.open(recording.store)
        defer { reader.close() }
        // A history may be such that nothing can leave; then all of it is in the log.
        let archives = (try? FileManager.default.contentsOfDirectory(atPath: recording.archives)) ?? []
        log =
            !archives.isEmpty
            ? try reader.events(from: 1, limit: .max, including: reader.archives(in: recording.archives)).elements
            : try reader.events(from: 1, limit: .max).elements
        try expectSame(commits.max(), UInt64(log.count), "what was acknowledged at the end")
    }

    /// Points spread over the recording; see ``CutPoint/spread(_:over:seed:)``.
    ///
    /// - Parameter isCreation: only over what came before the first acknowledgement.
    package func points(_ count: Int, isCreation: Bool) -> [CutPoint] {
        let end = isCreation ? trace.firstIndex(where: \.isAcknowledgement).map { $0 + 1 } : nil
        return CutPoint.spread(count, over: Array(trace[..<(end ?? trace.count)]), seed: recording.seed)
    }

    /// Checks all points, in the order of the trace.
    ///
    /// A store that does not hold what it must is left in the recording's directory, as the power cut left it.
    ///
    /// - Parameter begin: called before each point with the directory of what was left.
    package mutating func run(
        _ points: [CutPoint], fault: PlantedFault = .none, begin: (CutPoint, String) -> Void
    ) throws -> PowerCutReport {
        var report = PowerCutReport()
        var disk = SimulatedDisk(isRelaxed: recording.isRelaxed, fault: fault)
        for point in points.sorted() {
            while disk.events < min(point.events, trace.count) { try disk.apply(trace[disk.events]) }
            let directory = "\(recording.directory)/cut-\(point.events)-\(point.variation)"
            begin(point, directory)
            try cut(disk, at: point, fault, into: directory)
            do {
                try check(directory, disk, point, &report)
            } catch {
                try cut(disk, at: point, fault, into: directory)
                let difference = error as? Difference
                throw (difference ?? Difference(path: [], expected: "no error", found: "\(error)")).within(directory)
            }
            try FileManager.default.removeItem(atPath: directory)
        }
        report.syncs = trace.count {
            switch $0 {
            case .syncEnded, .writeSynced: true
            default: false
            }
        }
        return report
    }

    private func cut(_ disk: SimulatedDisk, at point: CutPoint, _ fault: PlantedFault, into directory: String) throws {
        try? FileManager.default.removeItem(atPath: directory)
        var random = point.random
        let store = recording.workload == .outbox ? directory + "/outbox" : directory
        try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: true)
        try disk.cut(Tear.random(&random), into: store, &random)
        try fault.prepareOpening(of: store)
    }

    private mutating func check(
        _ directory: String, _ disk: SimulatedDisk, _ point: CutPoint, _ report: inout PowerCutReport
    ) throws {
        var random = point.random
        let required = disk.requiredHead
        report.points += 1
        if disk.data.hasUnsynced || disk.journal.hasUnsynced { report.torn += 1 }
        if required > 0 { report.acknowledged += 1 }
        report.events += required
        guard recording.workload != .outbox else {
            return try OutboxWorkload.check(device: directory, required: required)
        }
        let head = try within("read") { try read(directory, required: required, &random) }
        try within("opened for writing") { try write(directory, head: head, required: required, &random) }
        if let head, head < disk.acknowledged { report.behind += 1 }
    }
}

// MARK: - One store

extension PowerCutCheck {
    /// - Returns: how far the log reaches; nil where there is no store that can be read yet: a reader cannot finish
    ///   what a writer died over in its first moments, as a writer can.
    private mutating func read(
        _ directory: String, required: UInt64, _ random: inout SeededRandom
    ) throws -> UInt64? {
        do {
            let reader = try StoreReader.open(directory)
            defer { reader.close() }
            let head = try compare(reader, required: required, &random)
            reader.close()
            try checkFold(directory, head)
            return head
        } catch  where required == 0 && error is TraylogError {
            return nil
        }
    }

    /// Goes on with the store as its writer would, and checks that again.
    private mutating func write(
        _ directory: String, head: UInt64?, required: UInt64, _ random: inout SeededRandom
    ) throws {
        var options = recording.workload.options(isRelaxed: true)
        if random.chance(50) { options.tailEvents = 800_000 }
        let store = try Store.open(directory, options: options)
        let end = try {
            defer { store.close() }
            let found = try compare(store, required: required, &random)
            if let head { try expectSame(head, found, "head") }
            if recording.workload == .erasing {
                try Erasures.checkFile(of: directory, log, head: found)
                return try store.perform(Command(user: "after the cut", .notify(Content(title: "Hi")))).seq?.rawValue
                    ?? 0
            }
            // Everything that was due at any time, by the model and by the store's index.
            var model = try model(found, store)
            let time = Timestamp(milliseconds: 1_700_000_000_000 + Int64(random.below(recording.steps * 1_000)))
            model.tick(time, now: time)
            try store.tick(now: time)
            let command = Command(user: "after the cut", .notify(Content(title: "Hi")))
            try expectSame(model.perform(command, now: time), .success(try store.perform(command)), "the next append")
            var comparison = try within("after a tick and an append") {
                try Comparison(store, model, seed: random.next())
            }
            try comparison.check(users: [random.pick(model.users())], depth: .sample(1))
            return model.head.rawValue
        }()
        try checkFold(directory, end)
    }

    /// Compares the log with what was written, and the answers with the fold of that.
    private mutating func compare(
        _ store: any AnswersQueries & BlockingQueries, required: UInt64, _ random: inout SeededRandom
    ) throws -> UInt64 {
        let head = try store.head().rawValue
        guard head >= required else {
            throw Difference(path: ["head"], expected: "at least \(required), which was acknowledged", found: "\(head)")
        }
        guard commits.contains(head) else {
            throw Difference(path: ["head"], expected: "the end of a commit", found: "\(head)")
        }
        if recording.workload == .erasing {
            try Erasures.check(store, log, head: head)
            return head
        }
        let model = try model(head, store)
        let left = log.prefix(Int(head)).filter { !model.dropped.contains($0.seq) }
        try expectSame(left, try store.events(from: 1, limit: .max).elements, "events")
        var comparison = try Comparison(store, model, seed: random.next())
        try comparison.check(users: [random.pick(model.users() + ["nobody"])], depth: .sample(1))
        for user in model.users() { try expectSame(model.tray(of: user).total, try store.tray(of: user).total, user) }
        if recording.workload == .projections {
            try checkProjection(MainDigest.self, store, head)
            try checkProjection(Weighted<Bulk>.self, store, head)
        }
        return head
    }

    private func checkProjection<Value: Projection & Equatable>(
        _ type: Value.Type, _ store: any BlockingQueries, _ head: UInt64
    ) throws {
        let projected = try store.projected(type)
        switch projected.origin {
        case .resumed, .new: break
        case let origin:
            throw Difference(path: ["\(type)"], expected: "what was stored, or nothing", found: "\(origin)")
        }
        try expectSame(true, projected.value == Value.folded(log.prefix(Int(head))), "\(type) is the fold of the log")
        for stored in try store.storedProjections() {
            try expectSame(nil, stored.damage, "damage of \(stored.name)")
            try expectSame(true, stored.position.rawValue <= head, "\(stored.name) is not ahead of the log")
        }
    }

    /// Every checksum, the order of the log, and every stored state against the fold.
    private func checkFold(_ directory: String, _ head: UInt64) throws {
        let report = try Verification.run(directory: directory) { _, _ in }
        try expectSame([], report.findings, "findings")
        try expectSame(head, report.events, "verified events")
        let replay = try Replay.run(directory: directory) { _, _ in }
        try expectSame(nil, replay.difference, "replay")
        // Below a floor only bases are left to begin from.
        if recording.workload != .compacting { try expectSame(head, replay.events, "replayed events") }
    }

    private mutating func model(_ head: UInt64, _ store: any AnswersQueries) throws -> NaiveStore {
        if let model = models[head] { return model }
        let model = try WholeLog(Array(log.prefix(Int(head)))).naive(store)
        models[head] = model
        return model
    }
}
