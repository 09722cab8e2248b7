import Foundation
import Testing
import TestSupport
import TraylogDomain
@testable import TraylogLMDB
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogLog
@_spi(Operations) @testable import TraylogRewrite
@testable import TraylogStates

/// This version opens the stores that all earlier versions wrote.
///
/// `Tools/make-fixture` writes the store of the present format.
@Suite struct CompatibilityTests {
    /// Kinds that no command causes yet.
    private static let unwritten: Set<EventKind> = [.erased, .compacted, .held, .released, .lost, .audited]
    private static let isMaking = ProcessInfo.processInfo.environment["TRAYLOG_MAKE_FIXTURE"] == "1"

    @Test func thePresentFormatHasAFixture() throws {
        if Self.isMaking { try Fixture.current.make() }
        #expect(
            Fixture.current.isThere,
            "no fixture of \(Fixture.current.name): run Tools/make-fixture, and leave the older ones as they are")
    }

    @Test(arguments: Fixture.all)
    func aStoreOfAnyFormatAnswersAsItDid(fixture: Fixture) throws {
        try withUnpacked(fixture) { path in
            let answers = try fixture.answers()
            #expect(!answers.isEmpty)
            for answer in answers {
                let now = try Answer(asking: answer.question, of: path)
                #expect(now.lines == answer.lines, "\(fixture.name): \(answer.question)")
            }
        }
    }

    @Test(arguments: Fixture.all)
    func aStoreOfAnyFormatIsSoundAndGoesOn(fixture: Fixture) throws {
        try withUnpacked(fixture) { path in
            try expectSound(path)
            var options = StoreOptions()
            options.ticking = .manual
            let store = try Store.open(path, options: options)
            let head = try store.head()
            let total = try store.tray(of: "ann").total
            #expect(
                try store.perform(Command(user: "ann", .notify(Content(title: "Later"))))
                    == .appended(Seq(head.rawValue + 1)))
            #expect(try store.tray(of: "ann").total == total + 1)
            // A key from then is still known.
            let again = Command(user: "ann", .seeTray(), key: "k3")
            #expect(throws: TraylogError.self) { try store.perform(again) }
            let digest = try store.project(MainDigest.self)
            #expect(try digest.value().last == head.rawValue + 1)
            store.close()
            try expectSound(path)
            let rebuilt = try Rebuild.run(directory: path) { _, _ in }
            #expect(rebuilt.identical)
            try expectSound(path)
        }
    }

    @Test func theFixtureHasEveryKindOfEventAndRow() throws {
        try withUnpacked(.current) { path in
            let reader = try StoreReader.open(path)
            let kinds = Set(try reader.events(from: 1, limit: .max).elements.map(\.kind))
            #expect(Set(EventKind.allCases).subtracting(Self.unwritten).subtracting(kinds).isEmpty)
            reader.close()
            let environment = try Environment.open(
                directory: path, access: .readOnly, databases: Tables.allNames)
            defer { environment.close() }
            for table in ["log", "chunks", "meta", "names", "states", "due", "projections"] {
                #expect(try keys(environment, table).isEmpty == false, "\(table)")
            }
            let spaces = Set(try keys(environment, "states").map { $0[4] })
            let pages = PageSpace.allCases.map { StateTable.Space.page($0).rawValue }
            let wanted = Set(pages + [StateTable.Space.root.rawValue, StateTable.Space.landmark.rawValue])
            #expect(wanted.subtracting(spaces).isEmpty, "\(spaces.sorted())")
            // Landmarks need older versions of pages; a key without its last eight bytes names a page.
            let versions = Dictionary(grouping: try keys(environment, "states").filter { $0.count > 13 }) {
                $0.prefix(13)
            }
            let old = Set(versions.values.filter { $0.count > 1 }.map { $0[0][4] })
            let kept = [PageSpace.items, .collapseKeys, .moved, .voided].map { StateTable.Space.page($0).rawValue }
            #expect(Set(kept).subtracting(old).isEmpty, "\(old.sorted())")
        }
    }

    private func keys(_ environment: Environment, _ table: String) throws -> [[UInt8]] {
        try environment.read { transaction in
            try transaction.withCursor(environment.database(table)) { cursor in
                var keys: [[UInt8]] = []
                while try cursor.next() {
                    cursor.withEntry { key, _ in keys.append((0..<key.byteCount).map { key.byte(at: $0) }) }
                }
                return keys
            }
        }
    }

    private func expectSound(_ path: String) throws {
        #expect(try Verification.run(directory: path) { _, _ in }.findings == [])
        #expect(try Replay.run(directory: path) { _, _ in }.identical)
    }

    private func withUnpacked(_ fixture: Fixture, _ body: (String) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            try fixture.unpack(to: directory + "/store")
            try body(directory + "/store")
        }
    }
}
