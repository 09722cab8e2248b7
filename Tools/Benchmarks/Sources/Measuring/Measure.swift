import ArgumentParser
import Foundation
import Traylog

/// One run of one case in a process of its own, as its reference has one: started by ``Run``.
struct Measure: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs one case once on Traylog.", shouldDisplay: false)

    @Argument var benchCase: BenchCase
    @Option var directory: String
    @Option var events: Int?
    @Option var users: Int?
    @Option var queries: Int?
    @Flag(help: "Only make the store that the case measures.") var prepare = false

    func run() async throws {
        var setup = Setup(benchCase.plan, directory: directory)
        setup.events = events ?? setup.events
        setup.users = users ?? setup.users
        setup.queries = queries ?? setup.queries
        if prepare { return try Preparation(setup).run(benchCase) }
        print(try await figures(setup).json)
    }

    private func figures(_ setup: Setup) async throws -> Figures {
        switch benchCase {
        case .bulk100k, .bulk1m: try await BulkMeasure(setup).run()
        case .bulkKeys: try await BulkMeasure(setup, hasKeys: true).run()
        case .concurrent1, .concurrent8, .concurrent64, .concurrent512: try await CallersMeasure(setup).run()
        case .blocking1, .blocking8: try await CallersMeasure(setup, isBlocking: true).run()
        case .badge, .page, .pageDeep, .threads, .asOf: try QueryMeasure(setup).run(benchCase)
        case .markAll: try MarkAllMeasure(setup).run()
        case .broadcast: try BroadcastMeasure(setup).run()
        case .tick: try TickMeasure(setup).run()
        case .openClean, .openKilled: try OpenMeasure(setup).run()
        case .bytes: try await BytesMeasure(setup).run()
        case .memory: try MemoryMeasure(setup).run()
        case .mixedDay: try await MixedDayMeasure(setup).run()
        case .big: try await BigMeasure(setup).run()
        case .replay, .importing: throw BenchError("\(benchCase.rawValue) is measured with the program traylog")
        }
    }
}
