import Foundation
@_spi(Operations) import Traylog

/// A run of a workload on a new store, which a recorder under the program watches.
package struct Recording: Codable, Hashable, Sendable {
    /// Holds the `store`, what was `acknowledged`, and the `trace`.
    package var directory: String
    package var workload: PowerCutWorkload
    package var isRelaxed: Bool
    package var seed: UInt64
    package var steps: Int

    package init(directory: String, workload: PowerCutWorkload, isRelaxed: Bool, seed: UInt64, steps: Int) {
        self.directory = directory
        self.workload = workload
        self.isRelaxed = isRelaxed
        self.seed = seed
        self.steps = steps
    }

    package var store: String { "\(directory)/\(storeName)" }

    /// Where the recorder looks for the data file.
    var storeName: String { workload == .outbox ? "device/outbox" : "store" }

    /// The program's acknowledgements.
    private var acknowledged: String { directory + "/acknowledged" }

    /// Signals that the reading process has begun.
    private var watching: String { directory + "/watching" }

    /// Tells the reading process to end.
    private var ended: String { directory + "/ended" }

    /// The directory for compactions' archives.
    package var archives: String { directory + "/archives" }

    package var options: StoreOptions { workload.options(isRelaxed: isRelaxed) }

    package func trace() throws -> [RecordedEvent] {
        try RecordedEvent.all(in: Data(contentsOf: URL(filePath: directory + "/trace")))
    }

    /// Does what is to be recorded, comparing the store with the naive model at the end.
    package func record() throws {
        try Data().write(to: URL(filePath: acknowledged))
        let acknowledgements = try FileHandle(forWritingTo: URL(filePath: acknowledged))
        let watcher = try startWatcher()
        if workload == .outbox {
            try OutboxWorkload.play(
                device: directory + "/device", count: steps, seed: seed, acknowledgements: acknowledgements)
        } else if workload == .erasing {
            let store = try AcknowledgingStore.open(store, options: options, acknowledgements: acknowledgements)
            try Erasures.play(store, count: max(1, steps / 10))
            store.close()
        } else {
            try recordRun(acknowledgements)
        }
        guard let watcher else { return }
        try Data().write(to: URL(filePath: ended))
        watcher.waitUntilExit()
        try expectSame(0, watcher.terminationStatus, "the status of the process that reads beside")
    }

    private func recordRun(_ acknowledgements: FileHandle) throws {
        var openings = 0
        var run = try ModelRun(seed: seed, mix: workload.mix) {
            var options = options
            // The next opening finds a map of another size in the file.
            if workload == .growing { options.mapSizeBytes = (8 << 20) << min(openings, 4) }
            openings += 1
            let opened = try AcknowledgingStore.open(store, options: options, acknowledgements: acknowledgements)
            if workload == .projections {
                _ = try opened.store.project(MainDigest.self, storedEveryMilliseconds: 0)
                _ = try opened.store.project(Weighted<Bulk>.self, storedEveryMilliseconds: 0)
            }
            return opened
        }
        try play(&run)
        try run.finish(depth: .sample(2))
    }

    /// Reads the head again and again, in a process of its own, and tells the world each one that it sees: that it was
    /// answered means that no power cut may take it.
    package func watch() throws {
        let acknowledgements = try FileHandle(forWritingTo: URL(filePath: acknowledged))
        guard FileManager.default.createFile(atPath: watching, contents: nil) else {
            throw Difference(path: ["watch"], expected: "the file \(watching)", found: "none")
        }
        var reader: StoreReader?
        defer { reader?.close() }
        var last: UInt64 = 0
        while !FileManager.default.fileExists(atPath: ended) {
            usleep(50)
            // There may be no whole store yet.
            if reader == nil { reader = try? StoreReader.open(store) }
            guard let reader, let head = try last == 0 ? try? reader.head() : reader.head(), head.rawValue != last
            else {
                continue
            }
            try acknowledgements.acknowledge(head)
            last = head.rawValue
        }
        guard last > 0 else { throw Difference(path: ["watch"], expected: "a head", found: "none") }
    }

    /// In relaxed mode others see what a power cut may take.
    private func startWatcher() throws -> Process? {
        guard !isRelaxed, [.commands, .batches, .growing, .compacting, .erasing].contains(workload) else { return nil }
        let watcher = Process()
        watcher.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        watcher.arguments = ["watch", directory]
        watcher.environment = ProcessInfo.processInfo.environment.merging(["POWERCUT_JOINS": "1"]) { $1 }
        try watcher.run()
        // On a busy machine the workload could end before the process has begun.
        while watcher.isRunning, !FileManager.default.fileExists(atPath: watching) { usleep(1_000) }
        return watcher
    }

    private func play(_ run: inout ModelRun) throws {
        let part = max(1, steps / 6)
        for number in 1...6 {
            if workload == .batches {
                try run.playBatches(part, size: 8, checkEvery: .max)
            } else {
                try run.play(steps: part, checkEvery: .max)
            }
            switch workload {
            case .pauses: Thread.sleep(forTimeInterval: 0.3)
            case .growing, .reopening: try run.reopen()
            case .rebuilding where number % 2 == 0:
                run.store.close()
                _ = try Rebuild.run(directory: store, options: options) { _, _ in }
                try run.reopen()
            case .compacting: try run.compact(atPercent: [60, 100, 90][number % 3], archive: archives)
            default: break
            }
        }
    }
}

/// A projection whose value soon takes more than one transaction.
package enum Bulk: Weight {
    package static let bytesPerEvent = 2_000
}
