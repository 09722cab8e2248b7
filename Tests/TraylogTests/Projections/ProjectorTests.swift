import Foundation
import Testing
import TestSupport
import TraylogPlatform
@_spi(Operations) @testable import Traylog
@testable import TraylogChecks
@testable import TraylogDomain

/// Running projections: their answers, their beginning and their end.
@Suite struct ProjectorTests {
    @Test func aProjectionHoldsWhatItsCallerAppended() async throws {
        try await withStorePath { path in
            let store = try Store.open(path)
            defer { store.close() }
            let projector = try await store.project(MainDigest.self)
            for count in 1...50 {
                let receipt = try await store.perform(notify("ann", "\(count)"))
                #expect(try await projector.value().events >= UInt64(count))
                #expect(try await projector.value(through: receipt.seq).last >= UInt64(count))
            }
            #expect(try await projector.value() == MainDigest.folded(try store.log.events(limit: .max).elements))
            #expect(projector.latest.position == 50)
            #expect(projector.progress.origin == .new)
            #expect(projector.progress.failure == nil)
        }
    }

    @Test func aProjectionOfAnEmptyStoreHasItsFirstValue() throws {
        try withStorePath { path in
            try withStore(path) { store in
                let projector = try store.project(MainDigest.self)
                #expect(try projector.value() == MainDigest())
                try projector.rebuild()
                #expect(try store.storedProjections().isEmpty)
            }
        }
    }

    @Test func waitingForWhatIsBeyondTheHeadIsRefused() throws {
        try withStorePath { path in
            try withStore(path) { store in
                _ = try store.perform(notify("ann"))
                let projector = try store.project(MainDigest.self)
                #expect(throws: TraylogError.refused(.upToBeyondHead(2, head: 1, field: "through"))) {
                    try projector.value(through: 2)
                }
                #expect(try projector.value(through: 0).events <= 1)
            }
        }
    }

    @Test(arguments: ["", String(repeating: "n", count: 129), "a\u{0}b", "line\n"])
    func aBadProjectionNameIsRefused(name: String) throws {
        try withStorePath { path in
            try withStore(path) { store in
                BadlyNamed.current.withLock { $0 = name }
                #expect(isRefusedName { _ = try store.project(BadlyNamed.self) })
                #expect(isRefusedName { _ = try store.projected(BadlyNamed.self) })
                #expect(isRefusedName { _ = try store.forgetProjection(named: name) })
            }
        }
    }

    @Test func aProjectionNameIsUsedOnceAtATime() throws {
        try withStorePath { path in
            try withStore(path) { store in
                let first = try store.project(MainDigest.self)
                #expect(isRefusedName { _ = try store.project(MainDigest.self) })
                #expect(isRefusedName { _ = try store.project(LaterDigest.self) })
                #expect(isRefusedName { _ = try store.forgetProjection(named: "digest") })
                first.stop()
                let second = try store.project(MainDigest.self)
                // The first one has nothing to say any more.
                first.stop()
                #expect(isRefusedName { _ = try store.project(MainDigest.self) })
                #expect(try second.value() == MainDigest())
            }
        }
    }

    @Test func severalProjectionsFoldTheSameLogWhileManyAppend() throws {
        try withStorePath { path in
            let store = try Store.open(path, options: options(tailEvents: 50, isRelaxed: true))
            defer { store.close() }
            let main = try store.project(MainDigest.self, storedEveryMilliseconds: 0)
            let second = try store.project(SecondDigest.self, storedEveryMilliseconds: 1)
            let threads = (0..<4).map { thread in
                startThread("caller") {
                    for round in 0..<200 {
                        do {
                            let seq = try store.perform(notify("user\(round % 9)", "\(thread)")).seq
                            let value = try main.value(through: seq)
                            #expect(value.last >= seq?.rawValue ?? .max)
                        } catch {
                            Issue.record(error)
                        }
                    }
                }
            }
            // One that comes late catches up beside the others.
            _ = try second.value()
            let third = try store.project(ThirdDigest.self)
            for thread in threads { thread.join() }
            let events = try store.events(limit: .max).elements
            #expect(events.count == 800)
            #expect(try main.value() == MainDigest.folded(events))
            #expect(try second.value() == SecondDigest.folded(events))
            #expect(try third.value() == ThirdDigest.folded(events))
            for projector in [main.progress, second.progress, third.progress] { #expect(projector.failure == nil) }
            #expect(try replayAfterClosing(store, path).identical)
        }
    }

    private func replayAfterClosing(_ store: Store, _ path: String) throws -> ReplayReport {
        store.close()
        return try replay(path)
    }

    @Test func stoppingAProjectionEndsAllWaitsAndKeepsItsLastValue() throws {
        try withStorePath { path in
            try withStore(path) { store in
                _ = try store.perform(notify("ann"))
                let projector = try store.project(MainDigest.self)
                _ = try projector.value()
                projector.stop()
                projector.stop()
                #expect(try failure { try projector.value() }?.code == .closed)
                #expect(try failure { try projector.rebuild() }?.code == .closed)
                #expect(projector.latest.position == 1 && projector.latest.value.events == 1)
                #expect(projector.progress.storedPosition == 1)
            }
        }
    }

    @Test func aClosedStoreStopsItsProjections() throws {
        try withStorePath { path in
            let store = try Store.open(path)
            let projector = try store.project(MainDigest.self)
            _ = try store.perform(notify("ann"))
            store.close()
            #expect(try failure { try projector.value() }?.code == .closed)
            #expect(try failure { try store.project(SecondDigest.self) }?.code == .closed)
            #expect(try failure { try store.forgetProjection(named: "digest") }?.code == .closed)
            #expect(try failure { try store.projected(MainDigest.self) }?.code == .closed)
            #expect(try failure { try store.storedProjections() }?.code == .closed)
            projector.stop()
            // The stored value is the one of that moment.
            let latest = projector.latest
            #expect(projector.progress.storedPosition == latest.position)
            try withReader(path) { reader throws in #expect(try reader.projected(MainDigest.self).value.events == 1) }
        }
    }

    @Test func stoppingAmidstALongFoldStoresHowFarItGot() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                _ = try store.perform((0..<4_000).map { notify("user\($0 % 7)", "\($0)") })
                let projector = try store.project(SlowDigest.self, storedEveryMilliseconds: 0)
                _ = try projector.value(through: 1)
                projector.stop()
                let latest = projector.latest
                #expect(latest.position > 0)
                #expect(
                    latest.value.digest
                        == MainDigest.folded(try store.events(limit: Int(latest.position.rawValue)).elements))
                #expect(projector.progress.storedPosition == latest.position)
                let again = try store.project(SlowDigest.self)
                #expect(again.progress.origin == .resumed(latest.position))
                #expect(try again.value().digest == MainDigest.folded(try store.events(limit: .max).elements))
            }
        }
    }
}

/// Whether a call was refused because of a name.
func isRefusedName(_ body: () throws -> Void) -> Bool {
    do {
        try body()
    } catch TraylogError.refused(.invalid(field: "name", _)) {
        return true
    } catch {}
    return false
}

/// A projection with the name that a test has set.
private struct BadlyNamed: Projection {
    static let current = Monitor("")
    static var name: String { current.withLock { $0 } }
    static var version: UInt32 { 1 }

    init() {}
    mutating func apply(_ event: Event) {}
    func encoded() -> [UInt8] { [] }
    init(decoding bytes: [UInt8]) {}
}

/// A projection that takes its time.
private struct SlowDigest: Projection {
    static let name = "slow"
    static let version: UInt32 = 1

    private(set) var digest = MainDigest()

    init() {}

    mutating func apply(_ event: Event) {
        usleep(50)
        digest.apply(event)
    }

    func encoded() -> [UInt8] { digest.encoded() }

    init(decoding bytes: [UInt8]) throws { digest = try MainDigest(decoding: bytes) }
}
