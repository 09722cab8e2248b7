import Foundation
import Testing
import Traylog
import TraylogDomain

// example: hourly counts
/// How many notifications each hour brought, by category.
struct HourlyCounts: Projection, Codable {
    static let name = "hourly-counts"
    static let version: UInt32 = 1

    /// By hours since 1970 (UTC), then by category; "" where there was none.
    private(set) var counts: [Int64: [String: Int]] = [:]

    init() {}

    mutating func apply(_ event: Event) {
        switch event.body {
        case .notified(let content), .broadcast(_, let content):
            let hour = event.recordedAt.milliseconds / 3_600_000
            counts[hour, default: [:]][content.category ?? "", default: 0] += 1
        default:
            break
        }
    }

    func encoded() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) }

    init(decoding bytes: [UInt8]) throws {
        self = try JSONDecoder().decode(HourlyCounts.self, from: Data(bytes))
    }

    func total(of category: String) -> Int { counts.values.reduce(0) { $0 + $1[category, default: 0] } }
}
// end

/// The Swift blocks of Docs/guides/projections.md.
struct ProjectionExamples {
    @Test func hourlyCounts() async throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("traylog-example-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.path
        try await expectRunning(path)
        try await expectReading(path)
        try await expectManaging(path)
    }

    private func expectRunning(_ path: String) async throws {
        // example: running a projection
        let store = try Store.open(path)
        let hourly = try await store.project(HourlyCounts.self)
        let build = Command(user: "ann", .notify(Content(category: "build", title: "Build 17 failed")))
        let receipt = try await store.perform(build)
        let now = try await hourly.value()  // holds everything appended so far
        let then = try await hourly.value(through: receipt.seq)  // or at least this event
        print("\(now.total(of: "build")) builds in \(now.counts.count) hours")  // 1 builds in 1 hours
        await store.close()
        // end

        #expect(now.counts == then.counts)
        #expect(now.total(of: "build") == 1 && now.total(of: "") == 0)
    }

    private func expectReading(_ path: String) async throws {
        // example: reading a projection
        let reader = try StoreReader.open(path)
        var hourly = try await reader.projected(HourlyCounts.self)
        print("\(hourly.value.total(of: "build")) builds as of event \(hourly.position)")  // 1 builds as of event 1
        hourly = try await reader.advanced(hourly)  // some time later: folds only what is new
        await reader.close()
        // end

        #expect(hourly.position == 1)
        #expect(hourly.value.total(of: "build") == 1)
        #expect(hourly.origin == .resumed(1))
    }

    private func expectManaging(_ path: String) async throws {
        let store = try Store.open(path)
        // example: managing projections
        let hourly = try await store.project(HourlyCounts.self)
        print(hourly.progress.origin)  // resumed(1)
        try await hourly.rebuild()
        print(hourly.progress.origin)  // rebuilt
        await hourly.stop()
        try await store.upkeep.forgetProjection(named: HourlyCounts.name)
        // end

        #expect(hourly.progress.origin == .rebuilt)
        #expect(hourly.progress.failure == nil)
        #expect(try await store.project(HourlyCounts.self).progress.origin == .new)
        await store.close()
    }
}
