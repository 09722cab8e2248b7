import Foundation
import Testing
import TestSupport
@_spi(Operations) import Traylog
import TraylogDomain

/// `traylog compact`, and the other commands after it.
struct CompactCommandTests {
    /// Eight events: nobody needs 1 and 2 from event 6 on, and 4 says when bob saw his tray.
    private func withFilled(_ body: (TestStore) throws -> Void) throws {
        try withStore { store in
            try store.append(
                #"{"kind":"notify","user":"ada","title":"One"}"#,
                #"{"kind":"mark","user":"ada","as":"deleted","items":[1]}"#,
                #"{"kind":"notify","user":"bob","title":"Three"}"#, #"{"kind":"seeTray","user":"bob"}"#,
                #"{"kind":"notify","user":"ada","title":"Five"}"#, #"{"kind":"notify","user":"ada","title":"Six"}"#,
                #"{"kind":"seeTray","user":"ada"}"#, #"{"kind":"notify","user":"bob","title":"Eight"}"#)
            try body(store)
        }
    }

    private func expectSound(_ store: TestStore, archives: String? = nil) throws {
        let verify = try TraylogRun.of(
            ["verify", "--store", store.directory] + (archives.map { ["--archive", $0] } ?? []))
        #expect(verify.status == 0, "\(verify.text)\(verify.errorText)")
        #expect(try store.run("replay").status == 0)
        #expect(try store.run("replay", "--rebuild").status == 0)
        #expect(try store.run("verify").status == 0)
    }

    @Test func compactRemovesEventsThatNoQueryNeeds() throws {
        try withFilled { store in
            let inboxes = try ["ada", "bob"].map { try store.run("inbox", $0, "--json").text }
            let run = try store.run("compact", "--before", "6")
            #expect(run.status == 0, "\(run.errorText)")
            #expect(run.lines[0] == "dropped: 2 events below the floor, which is 6")
            #expect(Set(run.lines[1...2]) == ["  1 marked", "  1 notified"])
            #expect(run.lines[3].hasPrefix("file: "))
            // The size of each table, and the reason why one grew.
            #expect(run.lines[4].hasPrefix("  log: ") && run.lines.last?.hasPrefix("  free pages: ") == true)
            #expect(run.lines.contains { $0.hasPrefix("  tree: 0 bytes before, ") && $0.hasSuffix("for proofs)") })
            #expect(try store.run("log", "--json").outputs("seq") == [3, 4, 5, 6, 7, 8, 9])
            for (user, before) in zip(["ada", "bob"], inboxes) {
                let after = try store.run("inbox", user, "--json").text
                #expect(
                    after.replacing(/"asOf":\d+/, with: "") == before.replacing(/"asOf":\d+/, with: ""))
            }
            let stats = try store.run("stats", "--json")
            #expect(try stats.outputs("floor") == [6] && stats.outputs("events") == [7])
            #expect(try stats.outputs("head") == [9])
            try expectSound(store)
            // Again there is nothing to do.
            #expect(try store.run("compact", "--before", "6", "--json").outputs("dropped") == [0])
            #expect(try store.run("stats", "--json").outputs("head") == [9])
        }
    }

    @Test func jsonSaysTheSame() throws {
        try withFilled { store in
            let run = try store.run("compact", "--before", "6", "--json", "--archive", store.directory + "-archive")
            #expect(run.status == 0 && run.lines.count == 1)
            #expect(try run.outputs("floor") == [6])
            #expect(try run.outputs("dropped") == [2])
            #expect(run.text.contains(#""kinds":{"notified":1,"marked":1}"#), "\(run.text)")
            #expect(try run.outputs("dryRun") == [.bool(false)])
            let names = try FileManager.default.contentsOfDirectory(atPath: store.directory + "-archive")
            #expect(names.count == 1 && run.text.contains(#""archive":"\#(names[0])""#), "\(names) \(run.text)")
        }
    }

    @Test func theFloorCanBeATime() throws {
        try withFilled { store in
            #expect(try store.run("compact", "--before", "1999-01-01T00:00:00Z", "--json").outputs("dropped") == [0])
            #expect(try store.run("compact", "--keep-days", "1", "--json").outputs("dropped") == [0])
            #expect(try store.run("stats", "--json").outputs("floor") == [0])
            let all = try store.run("compact", "--keep-days", "0", "--json")
            #expect(try all.outputs("floor") == [8])
            try store.append(#"{"kind":"notify","user":"ada"}"#)
            let later = try store.run("compact", "--before", "2999-01-01T00:00:00Z", "--json")
            #expect(try later.outputs("floor") == [10])
            try expectSound(store)
        }
    }

    @Test func aDryRunLeavesEverythingAsItWas() throws {
        try withFilled { store in
            _ = try store.run("tray", "ada")
            let export = try store.run("export").text
            let run = try store.run("compact", "--before", "6", "--dry-run", "--archive", store.directory + "-archive")
            #expect(run.status == 0)
            #expect(run.lines[0] == "would drop: 2 events below the floor, which is 6")
            #expect(!FileManager.default.fileExists(atPath: store.directory + "-archive"))
            #expect(try store.run("export").text == export)
            let json = try store.run("compact", "--before", "6", "--dry-run", "--json")
            #expect(try json.outputs("dryRun") == [.bool(true)])
            #expect(try store.run("stats", "--json").outputs("floor") == [0])
            #expect(try store.run("tray", "ada", "--as-of", "2").status == 0)
            #expect(StoreFiles.leftovers(in: store.directory) == [])
            try expectSound(store)
        }
    }

    @Test func queriesBelowTheFloorAreRefusedByName() throws {
        try withFilled { store in
            let archive = store.directory + "-archive"
            let name = try #require(
                try JSONValue.object(store.run("compact", "--before", "6", "--archive", archive, "--json").text)[
                    "archive"])
            for verb in [
                ["tray", "ada"], ["inbox", "bob"], ["threads", "ada"], ["users"], ["history", "ada"], ["log"],
            ] {
                let run = try TraylogRun.of(["--store", store.directory] + verb + ["--as-of", "5", "--json"])
                if run.status == 64 { continue }
                #expect(run.status == 65, "\(verb): \(run)")
                #expect(try run.errors("error") == ["compacted"], "\(verb): \(run.errorText)")
                let message = try #require(try run.errors("message").first??.text)
                #expect(message.contains("the floor, which is 6"), "\(verb): \(message)")
                #expect(message.hasSuffix("in the archive \(name.text ?? "")"), "\(verb): \(message)")
                let text = try TraylogRun.of(["--store", store.directory] + verb + ["--as-of", "5"])
                #expect(text.status == 65 && text.errorText.contains("compacted"))
                #expect(text.errorText.contains("6") && text.errorText.contains(".archive"), "\(text.errorText)")
                let above = try TraylogRun.of(["--store", store.directory] + verb + ["--as-of", "6"])
                #expect(above.status == 0, "\(verb): \(above.errorText)")
            }
            #expect(try store.run("undo", "ada", "2").status == 65)
        }
    }

    @Test func archivesGiveEverything() throws {
        try withFilled { store in
            let export = try store.run("export").text
            let archive = store.directory + "-archive"
            #expect(try store.run("compact", "--before", "4", "--archive", archive).status == 0)
            #expect(try store.run("compact", "--before", "7", "--archive", archive).status == 0)
            let log = try store.run("log", "--json", "--archive", archive)
            #expect(try log.outputs("seq") == (1...10).map { JSONValue(integerLiteral: $0) }, "\(log.text)")
            let history = try store.run("history", "ada", "--json", "--archive", archive)
            #expect(try history.outputs("seq") == [1, 2, 5, 6, 7])
            let whole = try store.run("export", "--archive", archive)
            #expect(whole.status == 0 && whole.text.withoutHeads.hasPrefix(export.withoutHeads), "\(whole.errorText)")
            try expectSound(store, archives: archive)
            let copy = TestStore(directory: store.directory + "-copy")
            #expect(try copy.run("restore", "-", input: whole.text).status == 0)
            #expect(try copy.run("export").text == whole.text)
            #expect(try copy.run("tray", "ada", "--as-of", "2").status == 0)
        }
    }

    @Test func wrongUsesHaveTheirStatus() throws {
        try withStore { store in
            let missing = try store.run("compact", "--before", "1")
            #expect(missing.status == 66 && !store.exists)
            try store.append(#"{"kind":"notify","user":"ada"}"#)
            #expect(try store.run("compact").status == 64)
            #expect(try store.run("compact", "--before", "1", "--keep-days", "1").status == 64)
            #expect(try store.run("compact", "--before", "soon").status == 64)
            #expect(try store.run("compact", "--keep-days", "-1").status == 64)
            let beyond = try store.run("compact", "--before", "2", "--json")
            #expect(beyond.status == 65)
            #expect(try beyond.errors("error") == ["upToBeyondHead"])
            let file = store.directory + "-file"
            try Data().write(to: URL(filePath: file))
            try store.append(#"{"kind":"seeTray","user":"ada"}"#, #"{"kind":"notify","user":"ada"}"#)
            #expect(try store.run("compact", "--before", "3", "--archive", file).status == 74)
            #expect(try store.run("stats", "--json").outputs("floor") == [0])
        }
    }

    @Test func aStoreOpenElsewhereExitsWith69() throws {
        try withStore { store in
            let holder = try Conversation(["append", "-", "--ack", "--store", store.directory])
            try holder.say(#"{"kind":"notify","user":"ada"}"# + "\n")
            _ = try holder.hear()
            for verb in [["compact", "--before", "1"], ["erase", "ada", "--yes"]] {
                let run = try TraylogRun.of(["--store", store.directory] + verb)
                #expect(run.status == 69 && run.errorText.contains("\(holder.processID)"), "\(run.errorText)")
            }
            try holder.endInput()
            #expect(holder.waitForEnd() == 0)
        }
    }

    @Test func theFileShrinksByFourFifthsWhenNineTenthsAreNotNeeded() throws {
        try withStore { store in
            try fillWithNineTenthsDead(store.directory, events: sized(20_000, nightly: 100_000))
            let run = try store.run("compact", "--keep-days", "0", "--json")
            #expect(run.status == 0, "\(run.errorText)")
            let report = try JSONValue.object(run.text)
            let before = try #require(report["bytesBefore"]?.number)
            let after = try #require(report["bytesAfter"]?.number)
            let data = StoreFiles.data(of: store.directory)
            let size = try FileManager.default.attributesOfItem(atPath: data)[.size] as? UInt64
            #expect(size == UInt64(after))
            var tables: [String: [String: JSONValue]] = [:]
            if case .array(let rows)? = report["tables"] {
                for case .object(let row) in rows { tables[row["name"]?.text ?? ""] = row }
            }
            let dropped = try #require(report["dropped"]?.number)
            // The tree has a hash of each event that left, so that proofs hold.
            let tree = try #require(tables["tree"]?["bytesAfter"]?.number)
            #expect(tree <= dropped * 40, "\(tree) bytes for \(dropped) events")
            #expect((after - tree) * 5 <= before, "\(before) to \(after) bytes, of which the tree has \(tree)")
            // The tables and the free pages make up the file, except for some pages of LMDB's own.
            let free = try #require(report["freeBytesAfter"]?.number)
            let sum = tables.values.reduce(free) { $0 + ($1["bytesAfter"]?.number ?? 0) }
            #expect(sum <= after && after - sum <= 16 * 4_096, "\(sum) of \(after) bytes")
            #expect(try store.run("verify").status == 0)
        }
    }

    @Test func aCompactionThatWouldMakeTheFileLargerChangesNothingUnlessToldTo() throws {
        try withStore { store in
            try fillWithASeventhReplaced(store.directory)
            let archive = store.directory + "-archive"
            let compact = ["--store", store.directory, "compact", "--keep-days", "0", "--archive", archive]
            let refused = try TraylogRun.of(compact)
            #expect(refused.status == 1, "\(refused.errorText)")
            #expect(
                refused.text.contains("not worth it: the file would be ") && refused.text.contains("--even-if-larger"))
            let report = try JSONValue.object(try TraylogRun.of(compact + ["--json"]).text)
            #expect(report["notWorthIt"] == .bool(true) && report["dryRun"] == .bool(false))
            let (old, new) = (try #require(report["bytesBefore"]?.number), try #require(report["bytesAfter"]?.number))
            #expect(new > old + 65_536)
            #expect(try store.run("stats", "--json").outputs("floor") == [0])
            #expect(((try? FileManager.default.contentsOfDirectory(atPath: archive)) ?? []).isEmpty)
            let done = try TraylogRun.of(compact + ["--even-if-larger", "--json"])
            #expect(done.status == 0)
            #expect(try JSONValue.object(done.text)["notWorthIt"] == nil)
            #expect(try store.run("stats", "--json").outputs("floor") != [0])
            #expect(try FileManager.default.contentsOfDirectory(atPath: archive).count == 1)
            #expect(try store.run("verify").status == 0)
        }
    }

    /// Few events leave, and each tray is kept as of the floor beside its present state.
    private func fillWithASeventhReplaced(_ path: String) throws {
        var options = StoreOptions()
        options.durability = .relaxed
        options.ticking = .manual
        let store = try Store.open(path, options: options)
        defer { store.close() }
        for round in 0..<15 {
            let commands = (0..<2_000).map { number in
                var content = Content(title: "Number \(round)")
                if round % 7 == 0 { content.collapseKey = "state" }
                return Command(user: "user \(number)", .notify(content), key: "\(round) \(number)")
            }
            _ = try store.perform(commands)
        }
    }

    /// For each item that stays, eight that are deleted in one go and a look.
    private func fillWithNineTenthsDead(_ path: String, events: UInt64) throws {
        var options = StoreOptions()
        options.durability = .relaxed
        options.ticking = .manual
        let store = try Store.open(path, options: options)
        defer { store.close() }
        var head: UInt64 = 0
        while head < events {
            let user = "user \(head / 10 % 500)"
            var commands = (0..<9).map { number in
                let body = "\(head) \(number) " + String(repeating: "words and more words, ", count: 9)
                return Command(user: user, .notify(Content(title: "Number \(number)", body: body)))
            }
            let items = (1...8).map { ItemReference.seq(Seq(head + $0)) }
            commands.append(Command(user: user, .mark(.deleted, items)))
            head = try store.perform(commands).last?.seq?.rawValue ?? 0
        }
    }
}

extension String {
    /// The lines of an export without the head at that time, which is in every line.
    fileprivate var withoutHeads: String { replacing(/"last":\d+/, with: "") }
}
