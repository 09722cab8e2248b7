import Foundation
@_spi(Operations) import Traylog
import TraylogDomain

/// A store on a file system that fills up at some moment of its life, and gets room again.
struct FullDiskRun {
    private static let failures = 3
    private static let steps = 300

    private let directory: String
    private var random: SeededRandom
    private var generator: HistoryGenerator
    private var naive = NaiveStore()

    /// - Parameter directory: on a small file system that nobody else uses.
    init(seed: UInt64, directory: String) {
        self.directory = directory
        random = SeededRandom(seed: ~seed)
        var mix = HistoryMix.typical
        mix.largePercent = 30
        generator = HistoryGenerator(seed: seed, mix: mix.with(.all))
    }

    private var path: String { directory + "/store" }
    private var filler: String { directory + "/filler" }

    /// - Returns: the number of acknowledged events looked for at the end.
    mutating func run() throws -> UInt64 {
        for file in [path, filler] { try? FileManager.default.removeItem(atPath: file) }
        // Hardly enough room to begin, or only for a while.
        let room = random.chance(30) ? random.below(200_000) : random.below(3_000_000)
        try fill(leaving: room)
        try appendUntilFull()
        try within("the program") { try askProgram() }
        try FileManager.default.removeItem(atPath: filler)
        try within("with room again") { try TorturedStore.verify(path, &naive, &random) }
        return naive.head.rawValue
    }

    private func fill(leaving room: Int) throws {
        let attributes = try FileManager.default.attributesOfFileSystem(forPath: directory)
        let free = (attributes[.systemFreeSize] as? Int) ?? 0
        // Some blocks that are free before are the system's when there is a file more.
        for margin in stride(from: 0, through: 262_144, by: 65_536) {
            do {
                return try Data(count: max(0, free - room - margin)).write(to: URL(filePath: filler))
            } catch CocoaError.fileWriteOutOfSpace where margin < 262_144 {}
        }
    }

    private mutating func appendUntilFull() throws {
        let options = StoreOptions.tiny(tailEvents: random.pick([1, 8, 64, 800_000]), isRelaxed: random.chance(30))
        let store: Store
        do throws(TraylogError) {
            store = try Store.open(path, options: options)
        } catch {
            return try expectFull(error)
        }
        // Closing brings the states up to the log as far as there is room, and tells nobody.
        defer { store.close() }
        var failures = 0
        var steps = 0
        while failures < Self.failures, steps < Self.steps {
            steps += 1
            var ahead = naive
            let step = TortureStep(&generator, &ahead, commands: random.between(1, 4))
            do {
                try step.perform(on: store)
                naive = ahead
            } catch let error as TraylogError {
                try expectFull(error)
                failures += 1
                naive = try within("reads on a full disk") {
                    try TorturedStore.read(store, step.models(naive, ahead, at: store.head()), &random)
                }
            }
        }
    }

    private func expectFull(_ error: TraylogError) throws {
        guard case .failed(let failure) = error, failure.code == .diskFull,
            failure.message.lowercased().contains("disk full")
        else { throw Difference(path: ["on a full disk"], expected: "disk full", found: "\(error)") }
    }

    /// The program appends if there is room for its commands, or reports that there is none; it always reads.
    private mutating func askProgram() throws {
        let program = TraylogProgram(store: path)
        let body = String(repeating: "x", count: random.pick([10, 4_000, 16_000]))
        let run = try program.run(["notify", "ann", "--title", "Hi", "--body", body])
        if run.status == 0 {
            let command = Command(user: "ann", .notify(Content(title: "Hi", body: body)))
            _ = naive.perform(command, now: generator.now)
        } else {
            try expectSame(74, run.status, "status (\(run.errors))")
            try expectSame(true, run.errors.lowercased().contains("disk full"), run.errors)
        }
        guard naive.head > .zero else { return }
        let reader = try StoreReader.open(path)
        defer { reader.close() }
        _ = try TorturedStore.read(reader, [naive], &random)
        try expectSame(0, try program.run(["tray", "ann"]).status, "status of a query")
    }
}
