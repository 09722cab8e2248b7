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
        await store.close()
    }

    @Test func aPageOfNothingGoesOnWithWhatComesNext() async throws {
        let store = try Store.temporary()
        func expectNothing() async throws {
            for newestFirst in [false, true] {
                #expect(try await store.history(of: "ann", newestFirst: newestFirst, limit: 0).next == nil)
                #expect(try await store.log.events(newestFirst: newestFirst, limit: 0).next == nil)
                let found = try await store.log.events(matching: EventFilter(), newestFirst: newestFirst, limit: 0)
                #expect(found.next == nil)
            }
            for asOf in [nil, Moment.seq(0)] { #expect(try await store.users(limit: 0, asOf: asOf).next == nil) }
        }
        try await expectNothing()
        try await store.notify("bob", title: "x")
        for title in ["1", "2", "3"] { try await store.notify("ann", title: title) }
        for newestFirst in [false, true] {
            let none = try await store.history(of: "ann", newestFirst: newestFirst, limit: 0)
            #expect(none.elements.isEmpty && none.asOf == 4)
            let next: Seq = try #require(none.next)
            let all = try await store.history(of: "ann", newestFirst: newestFirst, from: next)
            #expect(all.elements.count == 3)
            for from in [nil, Seq(3)] {
                let page = try await store.log.events(newestFirst: newestFirst, from: from, limit: 0)
                let whole = try await store.log.events(newestFirst: newestFirst, from: from)
                #expect(page.elements.isEmpty && page.next == whole.elements.first?.seq)
                let found = try await store.log.events(
                    matching: EventFilter(), newestFirst: newestFirst, from: from, limit: 0)
                #expect(found == page)
            }
        }
        for asOf in [nil, Moment.seq(4)] {
            for (name, rest) in [(nil, ["ann", "bob"]), ("ann", ["bob"])] {
                let page = try await store.users(after: name, limit: 0, asOf: asOf)
                let next: String = try #require(page.next)
                #expect(page.elements.isEmpty)
                #expect(try await store.users(after: next, asOf: asOf).elements == rest)
            }
            #expect(try await store.users(after: "bob", limit: 0, asOf: asOf).next == nil)
        }
        #expect(try await store.users(limit: 0, asOf: 1).next != nil)
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
