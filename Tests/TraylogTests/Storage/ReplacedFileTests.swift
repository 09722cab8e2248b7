import Foundation
import Synchronization
import Testing
import TestSupport
import TraylogLMDB
import TraylogPlatform
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain
@testable import TraylogQueries
@testable import TraylogRewrite
@testable import TraylogStates

/// A store's data file is replaced, again and again, under a reader that stays open.
@Suite struct ReplacedFileTests {
    private enum Label: DigestLabel {
        static let name = "digest"
        static let version: UInt32 = 1
    }

    @Test func queriesObserversAndProjectionsGoOnInTheNewFile() async throws {
        try await withStorePath { path in
            try Self.append(path, count: 10)
            let reader = try StoreReader.open(path)
            var trays = reader.trayUpdates(of: "ann").makeAsyncIterator()
            var log = reader.follow(from: 1).makeAsyncIterator()
            let asking = Asking()
            let thread = startThread("asking") { asking.run(reader) }
            var seq: UInt64 = 0
            for round in 1...4 as ClosedRange<UInt64> {
                await #expect(processExitsWith: .success) { [path = path as String] in
                    try Self.append(path, count: 5)
                    try Self.rewrite(path)
                    try Self.append(path, count: 5)
                    try Self.rewrite(path)
                }
                let head = 10 + 10 * round
                #expect(try await reader.tray(of: "ann").total == head)
                #expect(try await reader.tray(of: "ann", asOf: .seq(Seq(head - 7))).total == head - 7)
                await #expect(try reader.projected(LogDigest<Label>.self).value.events == head)
                #expect(try await reader.upkeep.statistics().head == Seq(head))
                while try await trays.next().map({ $0.total == head }) != true {}
                while seq < head {
                    let event = try #require(try await log.next())
                    #expect(event.seq == Seq(seq + 1))
                    seq += 1
                }
            }
            asking.isOver.store(true, ordering: .relaxed)
            thread.join()
            await reader.close()
            #expect(try findings(path).isEmpty)
            #expect(try replay(path).difference == nil)
        }
    }

    /// Queries a tray that only grows, until told to stop.
    private final class Asking: Sendable {
        let isOver = Atomic(false)

        func run(_ reader: StoreReader) {
            var last = Tray(user: "ann", asOf: 0)
            while !isOver.load(ordering: .relaxed) {
                do {
                    let tray = try reader.tray(of: "ann")
                    #expect(tray.asOf >= last.asOf && tray.total == tray.asOf.rawValue)
                    last = tray
                } catch {
                    Issue.record(error)
                }
            }
        }
    }

    private static func append(_ path: String, count: Int) throws {
        try withStore(path) { store in
            for _ in 0..<count { _ = try store.perform(notify("ann")) }
        }
    }

    private static func rewrite(_ path: String) throws {
        try RawStore.change(path) { store in
            let successor = try store.environment.openSuccessor()
            try store.environment.replace(
                by: successor,
                beforeRename: {
                    var copy = TableCopy(from: store.environment, to: successor)
                    for table in Tables.allNames { try copy.copy(store.environment.database(table)) }
                })
        }
    }
}
