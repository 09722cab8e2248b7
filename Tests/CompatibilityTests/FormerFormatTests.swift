import Foundation
import TestSupport
import Testing
import TraylogDomain
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogArchive

/// The version before revisions: its stores are refused by name, and its exports are restored.
///
/// It was never released. `Fixtures/before-revisions` has a compacted store with its archive, an export of all of it, and one
/// after an erasure.
@Suite struct FormerFormatTests {
    private static let folder = Fixture.folder.appending(path: "before-revisions")
    /// The tree head of the store that was exported.
    private static let formerRoot = "d63d1c22812442f0a2bc9de742fb542e8c3e08d853a81fc999cb59163a814556"

    private func withRestored(_ name: String, _ body: (String, [String]) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            let lines = try Self.lines(name)
            let path = directory + "/store"
            try Self.restore(lines, to: path)
            #expect(try Verification.run(directory: path) { _, _ in }.findings == [])
            #expect(try Replay.run(directory: path) { _, _ in }.identical)
            try body(path, lines)
        }
    }

    private static func lines(_ name: String) throws -> [String] {
        String(decoding: try Fixture.unzipped(folder.appending(path: name + ".gz")), as: UTF8.self)
            .split(separator: "\n").map(String.init)
    }

    private static func restore(_ lines: [String], to path: String) throws {
        let restore = try LogRestore(directory: path)
        defer { restore.close() }
        for line in lines { try restore.add(Array(line.utf8).span) }
        _ = try restore.finish { _, _ in }
    }

    @Test func anExportIsRestoredAndItsRevisionsAreCounted() throws {
        try withRestored("whole.jsonl") { path, lines in
            let reader = try StoreReader.open(path)
            defer { reader.close() }
            let events = try reader.events(from: 1, limit: .max).elements
            #expect(events.count == lines.count && events.map(\.revision).max() ?? 0 > 20)
            // A naive count gives each event its revision, and each subscription its topic's revision.
            #expect(NaiveStore(replaying: events).events == events)
            #expect(events.contains { $0.body == .unsubscribed(topic: "news", topicRevision: 4) })
            // A leaf has the revision, so the root is another one.
            #expect(try reader.treeHead().size == UInt64(lines.count))
            #expect(try reader.treeHead().root.description != Self.formerRoot)
            #expect(try reader.tray(of: "ann").revision == events.last { $0.user == "ann" }?.revision)
        }
    }

    @Test func anExportWithGapsIsRestoredAndWhatIsLeftIsCounted() throws {
        try withRestored("gaps.jsonl") { path, lines in
            let reader = try StoreReader.open(path)
            defer { reader.close() }
            let events = try reader.events(from: 1, limit: .max).elements
            #expect(events.count == lines.count && events.count { $0.kind == .lost } > 10)
            #expect(NaiveStore(replaying: events).events == events)
        }
    }

    @Test func aRestoredStoreGoesOnAndIsExportedWithRevisions() throws {
        try withRestored("whole.jsonl") { path, lines in
            var options = StoreOptions()
            options.ticking = .manual
            let store = try Store.open(path, options: options)
            let before = try store.tray(of: "ann").revision
            #expect(
                try store.perform(Command(user: "ann", .notify(Content(title: "Later")), expectedRevision: before))
                    == .appended(Seq(UInt64(lines.count) + 1)))
            store.close()
            let reader = try StoreReader.open(path)
            defer { reader.close() }
            var export = try LogExport(of: reader)
            var text = ""
            while let some = try export.take() { text += String(decoding: some.bytes, as: UTF8.self) }
            let again = text.split(separator: "\n").map(String.init)
            #expect(again.last?.contains(#""revision":\#(before + 1),"#) == true)
            try Self.restore(again, to: path + "-again")
            let copy = try StoreReader.open(path + "-again")
            defer { copy.close() }
            #expect(try copy.treeHead() == reader.treeHead())
        }
    }

    @Test func aChangedLineIsRefused() throws {
        let lines = try Self.lines("whole.jsonl")
        for (index, old, new) in [
            (0, #""kind":"subscribed","#, #""revision":1,"kind":"subscribed","#),
            (2, #""stream":"#, #""stream":1"#),
        ] {
            var changed = lines
            changed[index] = changed[index].replacing(old, with: new)
            #expect(changed != lines)
            try withTemporaryDirectory { directory in
                let error = #expect(throws: TraylogError.self) { try Self.restore(changed, to: directory + "/store") }
                #expect(error?.refusal?.code == .invalid)
            }
        }
    }

    @Test func itsStoresAndArchivesAreRefusedByName() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/store"
            try StoreFiles.make(path, of: Fixture.unzipped(Self.folder.appending(path: "data.mdb.gz")))
            let error = #expect(throws: TraylogError.self) { try StoreReader.open(path) }
            guard case .failed(let failure) = error else { throw CocoaError(.fileReadUnknown) }
            #expect(failure.code == .unsupported, "\(failure)")
            #expect(failure.message.contains("format 2"), "\(failure)")

            let archive = Self.folder.appending(path: "traylog-000000000029-d0f09316.archive")
            let refused = #expect(throws: ArchiveError.self) { try ArchiveReader.open(archive.path) }
            #expect(refused?.code == .older)
        }
    }
}
