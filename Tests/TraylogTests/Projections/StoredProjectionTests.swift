import Foundation
import Testing
import TestSupport
import TraylogPlatform
@_spi(Operations) @testable import Traylog
@testable import TraylogChecks
@testable import TraylogDomain
@testable import TraylogQueries

/// Stored values of projections are resumed, replaced, and found by other processes.
@Suite struct StoredProjectionTests {
    @Test func aProjectionResumesWhereItStopped() throws {
        try withStorePath { path in
            for round in 1...4 {
                try withStore(path) { store in
                    let before = try store.head()
                    let projector = try store.project(MainDigest.self)
                    #expect(projector.progress.origin == (round == 1 ? .new : .resumed(before)))
                    for index in 0..<30 { _ = try store.perform(notify("user\(index % 4)")) }
                    _ = try projector.value()
                    projector.stop()
                    #expect(projector.progress.storedPosition == Seq(UInt64(30 * round)))
                    #expect(projector.latest.value == MainDigest.folded(try store.events(limit: .max).elements))
                }
            }
        }
    }

    @Test func aProjectionOfAnotherVersionFoldsTheLogAnewAndReplacesTheStoredValue() throws {
        try withStorePath { path in
            try withStore(path) { store in
                for index in 0..<30 { _ = try store.perform(notify("ann", "\(index)")) }
                let old = try store.project(MainDigest.self)
                _ = try old.value()
                old.stop()
                let new = try store.project(LaterDigest.self)
                #expect(new.progress.origin == .otherVersion(1))
                #expect(try new.value() == LaterDigest.folded(try store.events(limit: .max).elements))
                new.stop()
                #expect(try store.storedProjections().map(\.version) == [2])
                #expect(try store.projected(LaterDigest.self).origin == .resumed(30))
                // Back to the program of before.
                let back = try store.projected(MainDigest.self)
                #expect(back.origin == .otherVersion(2))
                #expect(back.value == MainDigest.folded(try store.events(limit: .max).elements))
            }
        }
    }

    @Test func aRebuildFoldsAllEventsAnew() throws {
        try withStorePath { path in
            try withStore(path) { store in
                Stepping.step.withLock { $0 = 1 }
                for _ in 0..<3_000 / 100 { _ = try store.perform((0..<100).map { notify("ann", "\($0)") }) }
                let projector = try store.project(Stepping.self)
                #expect(try projector.value().sum == 3_000)
                // The fold changes, and its author forgets to raise the version.
                Stepping.step.withLock { $0 = 2 }
                _ = try store.perform(notify("ann"))
                #expect(try projector.value().sum == 3_002)
                try projector.rebuild()
                #expect(try projector.value().sum == 6_002)
                #expect(projector.progress.origin == .rebuilt)
                #expect(projector.progress.storedPosition == 3_001)
                #expect(try store.projected(Stepping.self).value.sum == 6_002)
            }
        }
    }

    @Test func aRebuildKeepsUpWithAWriter() async throws {
        try await withStorePath { path in
            let store = try Store.open(path, options: options(isRelaxed: true))
            defer { store.close() }
            _ = try await store.perform((0..<2_000).map { notify("user\($0 % 9)", "\($0)") })
            let projector = try store.project(MainDigest.self, storedEveryMilliseconds: 0)
            let writer = startThread("caller") {
                for index in 0..<300 { _ = try? store.perform(notify("ann", "\(index)")) }
            }
            for _ in 0..<5 { try await projector.rebuild() }
            writer.join()
            #expect(try await projector.value() == MainDigest.folded(try store.log.events(limit: .max).elements))
            #expect(try await store.log.head() == 2_300)
        }
    }

    @Test func readersFoldProjectionsThatAreNotStored() throws {
        try withStorePath { path in
            try withStore(path) { store in
                for index in 0..<30 { _ = try store.perform(notify("ann", "\(index)")) }
                let projector = try store.project(MainDigest.self)
                _ = try projector.value()
                projector.stop()
                for index in 0..<30 { _ = try store.perform(notify("bob", "\(index)")) }
            }
            try withReader(path) { reader throws in
                var projected = try reader.projected(MainDigest.self)
                #expect(projected.origin == .resumed(30) && projected.position == 60)
                #expect(projected.value == MainDigest.folded(try reader.events(limit: .max).elements))
                try reader.advance(&projected)
                #expect(projected.position == 60)
                let unknown = try reader.projected(SecondDigest.self)
                #expect(unknown.origin == .new)
                #expect(unknown.value == SecondDigest.folded(try reader.events(limit: .max).elements))
                #expect(try reader.storedProjections().map(\.name) == ["digest"])
            }
        }
    }

    @Test func theListOfProjectionsNamesThoseThatAreStored() throws {
        try withStorePath { path in
            try withStore(path) { store in
                #expect(try store.storedProjections().isEmpty)
                for index in 0..<30 { _ = try store.perform(notify("ann", "\(index)")) }
                let projectors = (try store.project(MainDigest.self), try store.project(SecondDigest.self))
                let third = try store.project(ThirdDigest.self)
                _ = (try projectors.0.value(), try projectors.1.value(), try third.value())
                projectors.0.stop()
                projectors.1.stop()
                third.stop()
                let list = try store.storedProjections()
                #expect(list.map(\.name) == ["digest", "digest2", "Ωther"])
                #expect(list.map(\.version) == [1, .max, 7])
                #expect(list.allSatisfy { $0.position == 30 && $0.bytes == 24 && $0.damage == nil })
                #expect(try store.statistics().projections == list)

                #expect(try store.forgetProjection(named: "digest"))
                #expect(try !store.forgetProjection(named: "digest"))
                #expect(try !store.forgetProjection(named: "dig"))
                #expect(try store.storedProjections().map(\.name) == ["digest2", "Ωther"])
                #expect(try store.project(MainDigest.self).progress.origin == .new)
            }
            #expect(try findings(path).isEmpty)
            #expect(try replay(path).identical)
        }
    }

    @Test func aStoreThatIsRebuiltKeepsItsProjections() throws {
        try withStorePath { path in
            try withStore(path) { store in
                for index in 0..<30 { _ = try store.perform(notify("ann", "\(index)")) }
                _ = try store.project(MainDigest.self).value()
            }
            #expect(try replay(path, rebuild: true).identical)
            try withStore(path) { store throws in
                #expect(try store.project(MainDigest.self).progress.origin == .resumed(30))
            }
        }
    }
}

/// A projection whose fold a test can change.
private struct Stepping: Projection {
    static let step = Monitor(1)
    static let name = "stepping"
    static let version: UInt32 = 1

    private(set) var sum = 0

    init() {}
    mutating func apply(_ event: Event) { sum += Self.step.withLock { $0 } }
    func encoded() -> [UInt8] { UInt64(sum).bytes }
    init(decoding bytes: [UInt8]) { sum = Int(UInt64(bytes: bytes)) }
}
