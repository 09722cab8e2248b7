import Testing
import TestSupport
@_spi(Replication) @_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain
@_spi(Operations) @testable import TraylogRewrite
@testable import TraylogStates

/// A replay finds a difference of any kind, in words that name the user.
@Suite struct ReplayDifferenceTests {
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

    private func report(_ path: String) throws -> ReplayReport {
        try Replay.run(directory: path) { _, _ in }
    }

    @Test func aSoundStoreIsIdenticalAlsoAboveAFloor() throws {
        try withFilledStore { path in
            #expect(try report(path).identical)
            try withStore(path, Self.settings) { store in _ = try store.compact(before: .seq(40)) }
            #expect(try report(path).identical)
        }
    }

    @Test func aWrongPresentStateIsFound() throws {
        try withFilledStore { path in
            try RawStore.change(path) { raw in
                try raw.changeState(StateTable.key(raw.stream(of: "ann"), .root, 0)) { $0.unseen += 1 }
            }
            #expect(try report(path).difference?.hasPrefix("user ann: unseen is ") == true)
        }
    }

    @Test func aWrongLandmarkIsFound() throws {
        try withFilledStore { path in
            try RawStore.change(path) { raw in
                try raw.changeState(StateTable.key(raw.stream(of: "ann"), .landmark, 35)) { $0.total += 1 }
            }
            #expect(try report(path).difference == "user ann, as of event 35: the state that was kept differs")
        }
    }

    @Test func aMomentOfThePastIsComparedWithWhatQueriesAnswerAboutIt() throws {
        try withFilledStore { path in
            for moment in [0, 10, 36, 79, 80] as [Seq] {
                let report = try Replay.run(directory: path, asOf: .seq(moment)) { _, _ in }
                #expect(report.identical && report.events == moment.rawValue, "\(moment): \(report.differences)")
            }
            try RawStore.change(path) { raw in
                try raw.changeState(StateTable.key(raw.stream(of: "ann"), .landmark, 35)) { $0.total += 1 }
            }
            func difference(_ moment: Seq) throws -> String? {
                try Replay.run(directory: path, asOf: .seq(moment)) { _, _ in }.difference
            }
            #expect(try difference(40) == "user ann: the tray as of event 40 differs from the log's")
            #expect(try difference(30) == nil)
            #expect(throws: TraylogError.self) { try difference(81) }
        }
    }

    @Test func aWrongItemIsNamed() throws {
        try withFilledStore { path in
            try RawStore.change(path) { raw in
                try raw.changeState(StateTable.key(raw.stream(of: "bob"), .root, 0)) {
                    $0.tail.entries[3].flags.insert(.archived)
                }
            }
            let report = try report(path)
            #expect(report.difference?.hasSuffix("item 8 differs") == true, "\(report.differences)")
        }
    }

    @Test func aReplayFindsANameThatLeadsToAnotherUser() throws {
        try withFilledStore { path in
            try RawStore.change(path) { raw in
                let ann = try raw.stream(of: "ann")
                try raw.changeSealed(raw.names, NameTable.key(user: "bob")) { $0[0] = UInt8(ann.rawValue) }
            }
            #expect(try report(path).difference?.contains("bob") == true)
        }
    }

    @Test func anOpenStoreCanBeReplayed() async throws {
        try await withStorePath { path in
            let store = try Store.open(path, options: Self.settings)
            defer { store.close() }
            for index in 0..<30 { _ = try await store.perform(notify("user\(index % 3)")) }
            let report = try await store.replay()
            #expect(report.identical && report.users == 3 && report.events == 30)
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
