import Testing
@_spi(Operations) import TraylogRewrite

@_spi(Operations) @testable import Traylog
@testable import TraylogPlatform

/// An option out of its range is refused by its name, and nothing is made.
@Suite struct OptionRangeTests {
    @Test(arguments: [
        ("mapSizeBytes", [0, -1, 1, .max, .min, (1 << 20) - 1, (1 << 46) + 1]), ("cacheBytes", [-1, .min, .max]),
        ("tailEvents", [0, -5, .min, .max]), ("compaction.keepDays", [-3, .min, .max, 36_501]),
        ("compaction.intervalSeconds", [0, -1, .min, .max]),
    ])
    func aWholeNumberOutOfItsRangeIsRefusedByName(name: String, values: [Int]) throws {
        for value in values {
            try expectRefusal(name) { options in
                options.compaction = CompactionPolicy(keepDays: 1)
                switch name {
                case "mapSizeBytes": options.mapSizeBytes = value
                case "cacheBytes": options.cacheBytes = value
                case "tailEvents": options.tailEvents = value
                case "compaction.keepDays": options.compaction?.keepDays = value
                default: options.compaction?.intervalSeconds = value
                }
            }
        }
    }

    @Test(arguments: [-0.1, 1.1, .nan, .infinity, -.infinity])
    func aShareOutsideOf0And1IsRefusedByName(share: Double) throws {
        try expectRefusal("compaction.oldShare") { options in
            options.compaction = CompactionPolicy(keepDays: 1)
            options.compaction?.oldShare = share
        }
        try expectRefusal("compaction.freeShare") { options in
            options.compaction = CompactionPolicy(keepDays: 1)
            options.compaction?.freeShare = share
        }
    }

    @Test func optionsAtTheEndsOfTheirRangesAreAccepted() async throws {
        for (map, cache, tail) in [(1 << 20, 0, 1), (1 << 40, 1 << 46, 1_000_000_000)] {
            var options = options(tailEvents: tail, cacheBytes: cache)
            options.mapSizeBytes = map
            let store = try Store.temporary(options: options)
            try await store.notify("ann", title: "x")
            #expect(try await store.tray(of: "ann").total == 1)
            await store.close()
        }
    }

    @Test func aNegativeLimitIsRefusedByName() async throws {
        let store = try Store.temporary()
        for asOf in [nil, Moment.seq(0)] {
            await #expect(throws: TraylogError.refused(.invalid(field: "limit", reason: "must be 0 or more, not -1"))) {
                try await store.users(limit: -1, asOf: asOf)
            }
        }
        #expect(try await store.users(limit: 0).elements == [])
        await store.close()
    }

    private func expectRefusal(_ name: String, _ set: (inout StoreOptions) -> Void) throws {
        var options = StoreOptions()
        set(&options)
        try withStorePath { path in
            let calls: [() throws -> Void] = [
                { _ = try Store.open(path, options: options) }, { _ = try StoreReader.open(path, options: options) },
                { _ = try Rebuild.run(directory: path, options: options) { _, _ in } },
            ]
            for call in calls {
                let error = #expect(throws: TraylogError.self) { try call() }
                guard case .refused(.invalid(let field, let reason)) = error else { return #expect(Bool(false)) }
                #expect(field == name && reason.hasPrefix("must be "), "\(reason)")
            }
            #expect(!Files.exists(path))
        }
    }
}
