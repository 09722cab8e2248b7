import Testing
import TestSupport
@testable import Traylog
@testable import TraylogChecks
@testable import TraylogDomain
@testable import TraylogRewrite
@testable import TraylogStates

/// What a replay of a part compares: differences there are found, others are not looked at.
@Suite struct ReplayScopeTests {
    private static let settings = {
        var settings = options(isRelaxed: true)
        settings.landmarkDistance = 6
        return settings
    }()

    /// 80 events, ann's odd and bob's even, so that ann's landmarks are 11, 23, 35, 47, 59 and 71.
    private func withFilledStore(_ body: (String) throws -> Void) throws {
        try withStorePath { path in
            try withStore(path, Self.settings) { store in
                for index in 0..<40 {
                    for user in ["ann", "bob"] {
                        let command = index % 5 == 4 ? Command(user: user, .markAll(.read)) : notify(user)
                        _ = try store.perform(command)
                    }
                }
            }
            try body(path)
        }
    }

    private func isIdentical(_ path: String, _ scope: ReplayScope) throws -> Bool {
        let one = try Replay.run(directory: path, scope: scope, threads: 1) { _, _ in }
        let two = try Replay.run(directory: path, scope: scope, threads: 2) { _, _ in }
        #expect(one.differences == two.differences)
        #expect(one.events == two.events && one.users == two.users)
        return one.identical
    }

    private func expect(_ isIdentical: Bool, _ path: String, _ scopes: ReplayScope...) throws {
        for scope in scopes { #expect(try self.isIdentical(path, scope) == isIdentical, "\(scope)") }
    }

    @Test func aSoundStoreIsIdenticalInEveryPart() throws {
        try withFilledStore { path in
            try expect(
                true, path, ReplayScope(), ReplayScope(users: ["ann"]), ReplayScope(asOf: .seq(40)),
                ReplayScope(asOf: .seq(0)), ReplayScope(to: 33), ReplayScope(from: 2, to: 3), ReplayScope(from: 80),
                ReplayScope(users: ["bob", "ann", "bob"], from: 17, to: 61))
        }
    }

    @Test func aWrongPresentStateIsFoundWhereThePresentIsCompared() throws {
        try withFilledStore { path in
            try RawStore.change(path) { raw in
                try raw.changeState(StateTable.key(raw.stream(of: "ann"), .root, 0)) { $0.unseen += 1 }
            }
            try expect(
                false, path, ReplayScope(), ReplayScope(users: ["ann"]), ReplayScope(users: ["bob", "ann"]),
                ReplayScope(asOf: .seq(80)), ReplayScope(from: 10), ReplayScope(users: ["ann"], from: 60, to: 80))
            try expect(
                true, path, ReplayScope(users: ["bob"]), ReplayScope(asOf: .seq(77)), ReplayScope(from: 10, to: 76),
                ReplayScope(users: ["bob"], from: 10), ReplayScope(users: ["bob"], asOf: .seq(80)))
            let report = try Replay.run(directory: path, scope: ReplayScope(users: ["ann"])) { _, _ in }
            #expect(report.difference?.hasPrefix("user ann: unseen is ") == true)
        }
    }

    @Test func aWrongLandmarkIsFoundByWhatBeginsWithIt() throws {
        try withFilledStore { path in
            try RawStore.change(path) { raw in
                try raw.changeState(StateTable.key(raw.stream(of: "ann"), .landmark, 35)) { $0.total += 1 }
            }
            try expect(
                false, path, ReplayScope(), ReplayScope(users: ["ann"]), ReplayScope(asOf: .seq(35)),
                ReplayScope(to: 46), ReplayScope(users: ["ann"], asOf: .seq(40)),
                // The state before is wrong, and that at the end is right; then the other way round.
                ReplayScope(from: 41, to: 60), ReplayScope(from: 41), ReplayScope(from: 30, to: 40))
            try expect(
                true, path, ReplayScope(users: ["bob"]), ReplayScope(asOf: .seq(34)), ReplayScope(asOf: .seq(47)),
                ReplayScope(users: ["bob"], asOf: .seq(40)), ReplayScope(from: 30, to: 60),
                ReplayScope(from: 48, to: 60))
            let report = try Replay.run(directory: path, scope: ReplayScope()) { _, _ in }
            #expect(report.difference == "user ann, as of event 35: the state that was kept differs")
        }
    }

    @Test func aWrongItemIsNamed() throws {
        try withFilledStore { path in
            try RawStore.change(path) { raw in
                try raw.changeState(StateTable.key(raw.stream(of: "bob"), .root, 0)) {
                    $0.tail.entries[3].flags.insert(.archived)
                }
            }
            for scope in [ReplayScope(), ReplayScope(users: ["bob"]), ReplayScope(asOf: .seq(80))] {
                let report = try Replay.run(directory: path, scope: scope) { _, _ in }
                #expect(report.difference?.hasSuffix("item 8 differs") == true, "\(report.differences)")
            }
        }
    }

    @Test func aNameThatLeadsElsewhereIsFound() throws {
        try withFilledStore { path in
            try RawStore.change(path) { raw in
                let ann = try raw.stream(of: "ann")
                try raw.changeSealed(raw.names, NameTable.key(user: "bob")) { $0[0] = UInt8(ann) }
            }
            #expect(try replay(path).difference?.contains("bob") == true)
        }
    }

    @Test func somebodyUnknownHasNothingToCompare() throws {
        try withFilledStore { path in
            let report = try Replay.run(directory: path, scope: ReplayScope(users: ["nobody"])) { _, _ in }
            #expect(report.identical && report.users == 0 && report.events == 0)
        }
    }

    @Test func whatCannotBeIsRefused() throws {
        try withFilledStore { path in
            func refusal(_ scope: ReplayScope) throws -> Refusal? {
                do throws(TraylogError) {
                    _ = try Replay.run(directory: path, scope: scope) { _, _ in }
                    return nil
                } catch {
                    guard case .refused(let refusal) = error else { throw error }
                    return refusal
                }
            }
            #expect(try refusal(ReplayScope(asOf: .seq(81))) == .upToBeyondHead(81, head: 80, field: "asOf"))
            #expect(try refusal(ReplayScope(to: 81)) == .upToBeyondHead(81, head: 80, field: "to"))
            let both = try refusal(ReplayScope(to: 3, asOf: .seq(3)))
            #expect(both == .invalid(field: "to", reason: "cannot be given beside asOf"))
            #expect(
                try refusal(ReplayScope(from: 9, to: 8)) == .invalid(field: "from", reason: "is after the last event"))
            #expect(
                try refusal(ReplayScope(users: [""])) == .invalid(field: "user", reason: "must not be empty"))
        }
    }

    @Test func belowTheFloorNothingCanBeFolded() throws {
        try withFilledStore { path in
            let floor = try withStore(path, Self.settings) { store in try store.compact(before: .seq(40)).floor }
            for scope in [ReplayScope(asOf: .seq(39)), ReplayScope(to: 20), ReplayScope(from: 40)] {
                do throws(TraylogError) {
                    _ = try Replay.run(directory: path, scope: scope) { _, _ in }
                    Issue.record("\(scope) is below the floor")
                } catch {
                    #expect(error == .refused(.compacted(floor: floor, archive: nil)))
                }
            }
            try expect(
                true, path, ReplayScope(), ReplayScope(asOf: .seq(40)), ReplayScope(from: 41),
                ReplayScope(users: ["ann"]), ReplayScope(from: 50, to: 70))
        }
    }

    @Test func anOpenStoreReplaysItself() async throws {
        try await withStorePath { path in
            let store = try Store.open(path, options: Self.settings)
            defer { store.close() }
            for index in 0..<30 { _ = try await store.perform(notify("user\(index % 3)")) }
            #expect(try await store.replay().identical)
            let report = try await store.replay(ReplayScope(users: ["user1"], asOf: .seq(20)))
            #expect(report.identical && report.users == 1 && report.events == 7)
        }
    }
}

extension RawStore {
    /// Changes a stored state, or one that was kept; its row stays sound.
    func changeState(_ key: [UInt8], _ body: (inout TrayState) -> Void) throws {
        var value = try value(states, key)
        value.removeLast(Checked.checksumBytes)
        var reader = PackedReader(value)
        var stored = try StoredState(from: &reader)
        body(&stored.state)
        value = []
        stored.state.packRoot(of: stored.name, into: &value)
        Checked.seal(&value, key: RawSpan(_elements: key.span))
        try put(states, key, value)
    }
}
