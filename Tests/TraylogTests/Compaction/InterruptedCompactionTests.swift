import Foundation
import Testing
import TestSupport
import TraylogPlatform
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain
@testable import TraylogQueries
@_spi(Operations) @testable import TraylogRewrite

/// What happens in the middle of a compaction: commands, other compactions, a close, giving up, a full disk.
@Suite struct InterruptedCompactionTests {
    /// Forty events: of ten items, the odd ones are deleted, all below the floor at 31; ann has read one above it.
    private func fill(_ store: Store) throws {
        for number in 1...10 { _ = try store.perform(notify("ann", "item \(number)", key: "k\(number)")) }
        for number in stride(from: 1, through: 9, by: 2) {
            _ = try store.perform(Command(user: "ann", .mark(.deleted, [.seq(Seq(UInt64(number)))])))
        }
        for number in 1...15 { _ = try store.perform(notify("bob", "item \(number)")) }
        for number in 1...10 { _ = try store.perform(notify("cy", "item \(number)")) }
    }

    /// How often a compaction of this store reports its progress.
    private func steps() throws -> Int {
        var count = 0
        try withStorePath { path in
            try withStore(path, options(tailEvents: 4)) { store in
                try fill(store)
                _ = try store.compact(before: .seq(31), archive: nil, isDryRun: false) { _, _ in count += 1 }
            }
        }
        return count
    }

    /// Runs `body` at each step of a compaction, in a store of its own for each.
    private func atEachStep(_ body: (_ path: String, _ step: Int) throws -> Void) throws {
        let steps = try steps()
        #expect(steps > 2)
        for step in 0..<steps { try withStorePath { try body($0, step) } }
    }

    private func expectSound(_ path: String, _ step: Int) throws {
        #expect(try findings(path) == [], "step \(step)")
        _ = try replay(path, rebuild: true)
        #expect(try findings(path) == [], "step \(step), after a rebuild")
    }

    @Test func aUserHeldDuringACompactionLosesNoEvent() throws {
        try atEachStep { path, step throws in
            try withStore(path, options(tailEvents: 4)) { store throws in
                try fill(store)
                var filter = EventFilter()
                filter.user = "ann"
                let before = try store.events(matching: filter, limit: 100).elements
                var now = 0
                do {
                    let report = try store.compact(before: .seq(31), archive: nil, isDryRun: false) { _, _ throws in
                        defer { now += 1 }
                        if now == step { _ = try store.blocking.hold("ann") }
                    }
                    // The hold came before anything was looked at.
                    #expect(now <= step || report.dropped < 10, "step \(step)")
                } catch {
                    guard case TraylogError.failed(let failure) = error else { throw error }
                    #expect(failure.code == .busy, "step \(step)")
                    #expect(try store.statistics().floor == 0, "step \(step)")
                }
                guard now > step else { return }
                _ = try store.compact(before: .seq(31), archive: nil, isDryRun: false)
                let after = try store.events(matching: filter, limit: 100).elements
                #expect(Array(after.prefix(before.count)) == before, "step \(step)")
                #expect(after.last?.kind == .held, "step \(step)")
            }
            try expectSound(path, step)
        }
    }

    @Test func nobodyCanHoldAUserWhoseErasureHasBegun() throws {
        try atEachStep { path, step throws in
            try withStore(path, options(tailEvents: 4)) { store throws in
                try fill(store)
                _ = try store.compact(before: .seq(31), archive: path + "-archive")
                var now = 0
                var code: StoreFailure.Code?
                _ = try store.erase("ann", actor: nil, device: nil, archives: nil) { _, _ throws in
                    defer { now += 1 }
                    guard now == step else { return }
                    code = try failure { try store.blocking.hold("ann") }?.code
                    _ = try store.blocking.hold("bob")
                }
                guard now > step else { return }
                #expect(code == .busy, "step \(step)")
                #expect(try store.tray(of: "ann").total == 0)
                // The name is somebody else's now.
                #expect(try store.blocking.hold("ann") != .unchanged)
                #expect(try store.blocking.hold("bob") == .unchanged)
            }
            try expectSound(path, step)
        }
    }

    @Test func aUserWhoseErasureFailedCanBeHeld() throws {
        try atEachStep { path, step throws in
            try withStore(path, options(tailEvents: 4)) { store throws in
                try fill(store)
                let before = try store.inbox(of: "ann")
                var now = 0
                let failed = try failure {
                    try store.erase("ann", actor: nil, device: nil, archives: nil) { _, _ throws in
                        defer { now += 1 }
                        if now == step { throw CancellationError() }
                    }
                }
                guard now > step else { return }
                #expect(failed?.code == .cancelled, "step \(step)")
                #expect(try store.blocking.hold("ann") == .appended(41), "step \(step)")
                #expect(try store.inbox(of: "ann").elements == before.elements, "step \(step)")
                #expect(throws: TraylogError.refused(.held(user: "ann"))) { try store.erase("ann") }
            }
            try expectSound(path, step)
        }
    }

    @Test func anItemThatIsRestoredMeanwhileKeepsItsTexts() throws {
        try atEachStep { path, step throws in
            try withStore(path, options(tailEvents: 4)) { store throws in
                try fill(store)
                var now = 0
                _ = try store.compact(before: .seq(31), archive: nil, isDryRun: false) { _, _ throws in
                    defer { now += 1 }
                    guard now == step else { return }
                    let receipt = try store.perform(Command(user: "ann", .mark(.restored, [.seq(3), .seq(7)])))
                    #expect(receipt == .appended(41))
                }
                // States that an idle store has flushed by itself need no step.
                guard now > step else { return }
                let titles = try store.inbox(of: "ann").elements.map(\.content.title)
                #expect(titles == [10, 8, 7, 6, 4, 3, 2].map { "item \($0)" }, "step \(step)")
                #expect(try store.inbox(of: "ann", asOf: .seq(31)).elements.count == 5)
                let late = Command(user: "ann", .mark(.restored, [.seq(5)]))
                #expect(throws: TraylogError.refused(.compacted(floor: 31, archive: nil))) { try store.perform(late) }
            }
            try withStore(path) { store throws in
                let count = try store.inbox(of: "ann").elements.count
                #expect(count == 7 || count == 5, "step \(step)")
            }
            try expectSound(path, step)
        }
    }

    @Test func anUndoBelowTheFloorToBeIsRefusedAndOneAboveIsNot() throws {
        try atEachStep { path, step throws in
            try withStore(path, options(tailEvents: 4)) { store throws in
                try fill(store)
                let read = try #require(try store.perform(Command(user: "bob", .mark(.read, [.seq(20)]))).seq)
                var now = 0
                func undo() throws {
                    #expect(throws: TraylogError.self) { try store.perform(Command(user: "ann", .undo(event: 11))) }
                    _ = try store.perform(Command(user: "bob", .undo(event: read)))
                }
                _ = try store.compact(before: .seq(31), archive: nil, isDryRun: false) { _, _ throws in
                    if now == step { try undo() }
                    now += 1
                }
                guard now > step else { return }
                #expect(try store.tray(of: "bob").unread == 15)
                #expect(try store.inbox(of: "bob", asOf: .seq(read)).elements.count { $0.isRead } == 1)
            }
            try expectSound(path, step)
        }
    }

    @Test func anAbandonedRewriteLeavesTheStoreUnchanged() throws {
        try atEachStep { path, step throws in
            let archive = path + "-archive"
            try withStore(path, options(tailEvents: 4)) { store throws in
                try fill(store)
                let events = try store.events(limit: .max).elements
                var now = 0
                let failed = try failure {
                    try store.compact(before: .seq(31), archive: archive, isDryRun: false) { _, _ throws in
                        defer { now += 1 }
                        if now == step { throw CancellationError() }
                    }
                }
                guard now > step else { return }
                #expect(failed?.code == .cancelled, "step \(step)")
                #expect(try store.statistics().floor == .zero)
                #expect(try store.events(limit: .max).elements == events)
                let left = (try? FileManager.default.contentsOfDirectory(atPath: archive)) ?? []
                // A beginning, states, the log; then the archive is finished, and stays when the check is given up.
                #expect(left.filter { !$0.hasPrefix(".") }.count <= (step > 2 ? 1 : 0), "step \(step)")
                // Nothing is refused any more that a floor would refuse.
                _ = try store.perform(Command(user: "ann", .undo(event: 11)))
                _ = try store.perform([notify("dot"), Command(user: "dot", .seeTray()), notify("dot")])
                let report = try store.compact(before: .seq(44), archive: archive)
                #expect(report.floor == 44 && report.dropped > 0 && report.archive != nil)
            }
            #expect(try Verification.run(directory: path, archives: archive) { _, _ in }.findings == [])
            try expectSound(path, step)
        }
    }

    @Test func aCancelledCompactionLeavesTheStoreAsItWas() async throws {
        try await withStorePath { path in
            let store = try Store.open(path, options: options())
            defer { store.close() }
            _ = try await store.perform((0..<3_000).map { notify("user\($0 % 500)") })
            let task = Task { try await store.upkeep.compact(before: .seq(3_000)) }
            task.cancel()
            await #expect(throws: TraylogError.self) { try await task.value }
            #expect(try await store.upkeep.statistics().floor == .zero)
            #expect(try await store.log.events(from: 1, limit: 10).elements.count == 10)
            #expect(try await store.upkeep.compact(before: .seq(3_000)).floor == 3_000)
        }
    }

    @Test func onlyOneRewriteRunsAtATime() throws {
        try atEachStep { path, step throws in
            try withStore(path, options(tailEvents: 4)) { store throws in
                try fill(store)
                var now = 0
                var codes: [StoreFailure.Code?] = []
                _ = try store.compact(before: .seq(31), archive: nil, isDryRun: false) { _, _ throws in
                    defer { now += 1 }
                    guard now == step else { return }
                    codes.append(try failure { try store.compact(before: .seq(35)) }?.code)
                    codes.append(try failure { try store.erase("bob") }?.code)
                }
                guard now > step else { return }
                #expect(codes == [.busy, .busy])
                #expect(try store.statistics().floor == 31)
                #expect(try store.compact(before: .seq(35)).floor == 35)
                #expect(try store.erase("bob").seq != nil)
            }
            try expectSound(path, step)
        }
    }

    @Test func closingAStoreDuringACompactionLosesNothing() throws {
        try atEachStep { path, step throws in
            let store = try Store.open(path, options: options(tailEvents: 4))
            try fill(store)
            var now = 0
            var closing: OSThread?
            let failed = try failure {
                try store.compact(before: .seq(31), archive: nil, isDryRun: false) { _, _ throws in
                    defer { now += 1 }
                    if now == step { closing = startThread("closer") { store.close() } }
                }
            }
            store.close()
            closing?.join()
            #expect(failed == nil || failed?.code == .closed, "step \(step): \(String(describing: failed))")
            try withStore(path) { store in
                #expect(try store.statistics().floor == (failed == nil ? 31 : 0), "step \(step)")
                #expect(try store.tray(of: "bob").total == 15)
                _ = try store.perform(notify("bob"))
                #expect(StoreFiles.leftovers(in: path) == [], "step \(step)")
                #expect(try store.compact(before: .seq(35)).floor == 35)
            }
            try expectSound(path, step)
        }
    }

    @Test func aCompactionOnAFullDiskNamesItAndLeavesTheStoreAsItWas() async throws {
        try await withStorePath { (path: String) async throws in
            await #expect(processExitsWith: .success) { [path = path as String] in
                let store = try Store.open(path, options: options())
                let body = String(repeating: "x", count: 1_000)
                for _ in 0..<4 {
                    let commands = (0..<500).map { Command(user: "u\($0)", .notify(Content(title: "t", body: body))) }
                    _ = try store.perform(commands)
                }
                for limit in [300_000, 1_000_000, 2_000_000] {
                    limitFileSize(limit)
                    let failed = try failure { try store.compact(before: .seq(1_900)) }
                    #expect(failed?.code == .diskFull, "\(limit)")
                    let erasing = try failure { try store.erase("u7") }
                    #expect(erasing?.code == .diskFull, "\(limit)")
                    limitFileSize(nil)
                    let statistics = try synchronously { try store.statistics() }
                    #expect(statistics.floor == .zero && statistics.events == statistics.head.rawValue)
                    #expect(try synchronously { try store.tray(of: "u7").total } == 4)
                    _ = try store.perform(notify("later"))
                }
                #expect(try store.compact(before: .seq(1_900)).floor == 1_900)
                #expect(try store.erase("u7").seq != nil)
                store.close()
            }
            #expect(try findings(path) == [])
        }
    }
}

/// The largest file that the process may write from now on; nil for any.
private func limitFileSize(_ bytes: Int?) {
    _ = signal(SIGXFSZ, SIG_IGN)
    var limit = rlimit()
    _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    limit.rlim_cur = bytes.map { rlim_t($0) } ?? limit.rlim_max
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
}
