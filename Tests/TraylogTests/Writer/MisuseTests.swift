import Foundation
import Synchronization
import Testing
import TestSupport
import TraylogPlatform
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain

/// Misuse by an embedder gives an error or works; nothing hangs, and nothing is damaged.
@Suite struct MisuseTests {
    @Test func aStoreIsOpenedOnceUnderAllItsNames() throws {
        try withStorePath { path in
            try withStore(path) { store in
                let alias = path + "-alias"
                try FileManager.default.createSymbolicLink(atPath: alias, withDestinationPath: path)
                for other in [path, alias, path + "/../store"] {
                    #expect(try failure { try Store.open(other) }?.code == .alreadyOpen)
                    let reader = try StoreReader.open(other)
                    #expect(try reader.head() == store.head())
                    reader.close()
                }
                _ = try store.perform(notify("ann"))
            }
            #expect(try replay(path).identical)
        }
    }

    @Test func aBackupsCallerMayAppendAndCloseTheStoreMeanwhile() throws {
        try withStorePath { path in
            let store = try Store.open(path, options: options())
            let body = String(repeating: "x", count: 16_000)
            _ = try store.perform((0..<500).map { Command(user: "u\($0)", .notify(Content(title: "Hi", body: body))) })
            let calls = Atomic<Int>(0)
            _ = try? store.backup(to: path + "-copy") { _, _ in
                guard calls.add(1, ordering: .relaxed).oldValue == 0 else { return }
                #expect(try! store.perform(notify("during")).seq == 501)
                store.close()
            }
            store.close()
            #expect(try replay(path).identical)
        }
    }

    @Test func anObserverMayAppendAndCloseTheStore() async throws {
        try await withStorePath { path in
            let store = try Store.open(path, options: options())
            var seen: [Int] = []
            for try await tray in store.trayUpdates(of: "ann") {
                seen.append(tray.total)
                if tray.total == 3 { await store.close() } else { _ = try await store.perform(notify("ann")) }
            }
            #expect(seen == [0, 1, 2, 3])
            #expect(try replay(path).identical)
        }
    }

    @Test(arguments: Meddling.Kind.allCases)
    func aProjectionThatCallsItsStoreIsAnsweredOrRefused(kind: Meddling.Kind) throws {
        try withStorePath { path in
            let store = try Store.open(path, options: options())
            let projector = try store.project(Meddling.self)
            let outcome = Monitor<String?>(nil)
            Meddling.action.withLock { action in
                action = {
                    let words = describe { try kind.meddle(with: store, projector) }
                    outcome.withLock { $0 = words }
                    outcome.signalAll()
                }
            }
            _ = try store.perform(notify("ann"))
            let words = outcome.wait(timeoutMilliseconds: nil, until: { $0 != nil }, { $0 })
            #expect(words == kind.outcome)
            projector.stop()
            store.close()
            #expect(try replay(path).identical)
        }
    }

    @Test func aForkedChildLearnsThatTheStoreBelongsToItsParent() async throws {
        try await withStorePath { path in
            await #expect(processExitsWith: .success) { [path = path as String] in
                let store = try Store.open(path)
                _ = try store.perform(notify("ann"))
                let projector = try store.project(Meddling.self)
                // All threads rest then: a child that begins while one of them has a lock of the language's runtime
                // would wait for it for ever.
                _ = try projector.value()
                var status = callFromChild(store, projector, path)
                for _ in 0..<3 where status == nil { status = callFromChild(store, projector, path) }
                #expect(status == 0)
                // The child's end took nothing from the parent.
                _ = try store.perform(notify("ann"))
                #expect(try synchronously { try store.tray(of: "ann").total } == 2)
                store.close()
            }
            let identical = try replay(path).identical
            #expect(identical)
        }
    }
}

/// Calls everything in a forked child.
///
/// - Returns: the child's exit status; nil when it did not end.
private func callFromChild(_ store: Store, _ projector: Projector<Meddling>, _ path: String) -> Int32? {
    let calls: [() throws -> Void] = [
        { _ = try store.perform(notify("ann")) }, { _ = try store.perform([notify("ann")]) },
        { try store.tick() }, { _ = try store.tray(of: "ann") }, { _ = try store.events(limit: .max).elements },
        { _ = try store.head() }, { _ = try store.statistics() },
        { _ = try projector.value() }, { try projector.rebuild() },
        { _ = try store.backup(to: path + "-copy") },
    ]
    let child = forkProcess()
    guard child == 0 else { return exitStatus(of: child) }
    alarm(20)
    let codes = calls.map { call in try? failure(call)?.code }
    store.close()
    projector.stop()
    _exit(codes.allSatisfy { $0 == .unsupported } ? 0 : 1)
}

/// The outcome of a call, in a word.
private func describe(_ body: () throws -> String) -> String {
    do {
        return try body()
    } catch TraylogError.refused {
        return "refused"
    } catch {
        return "\(error)"
    }
}

/// A projection that does once what its store must live through.
struct Meddling: Projection {
    enum Kind: CaseIterable {
        case append, tray, value, rebuild, stop, close

        var outcome: String {
            switch self {
            case .append: "appended"
            case .tray: "read"
            case .value, .rebuild: "refused"
            case .stop, .close: "returned"
            }
        }

        func meddle(with store: Store, _ projector: Projector<Meddling>) throws -> String {
            switch self {
            case .append:
                _ = try store.perform(notify("bob"))
                return "appended"
            case .tray:
                _ = try store.tray(of: "ann")
                return "read"
            case .value:
                _ = try projector.value()
                return "answered"
            case .rebuild:
                try projector.rebuild()
                return "answered"
            case .stop:
                projector.stop()
                return "returned"
            case .close:
                store.close()
                return "returned"
            }
        }
    }

    static let name = "meddling"
    static let version: UInt32 = 1
    static let action = Mutex<(@Sendable () -> Void)?>(nil)

    var events = 0

    mutating func apply(_ event: Event) {
        events += 1
        let action = Meddling.action.withLock { action in
            defer { action = nil }
            return action
        }
        action?()
    }

    func encoded() throws -> [UInt8] { [] }
    init() {}
    init(decoding bytes: [UInt8]) throws {}
}
