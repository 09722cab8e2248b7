import Foundation
import TestSupport
import Testing

/// `audit --archive` and `dossier --archive` show and prove the events that left the log.
struct WholeAuditTests {
    /// A life of 400 events or so: own events, broadcasts that were edited, retracted and expired, undos, snoozes.
    private func live(_ store: TestStore) throws {
        var lines = [#"{"kind":"subscribe","user":"ada","topic":"news"}"#]
        for number in 1...60 {
            let item = #""user":"ada","key":"k\#(number)","thread":"t\#(number % 4)","category":"c\#(number % 3)""#
            lines.append(#"{"kind":"notify",\#(item),"title":"Title \#(number)","collapseKey":"\#(number % 11)"}"#)
            lines.append(#"{"kind":"notify","user":"bob","title":"For bob","actor":"ada"}"#)
            if number % 5 == 0 {
                lines.append(
                    #"{"kind":"broadcast","topic":"news","key":"b\#(number)","title":"To all","expiresAt":"2020-01-01T00:00:00Z"}"#
                )
            }
            if number % 7 == 0 { lines.append(#"{"kind":"seeTray","user":"ada","device":"phone"}"#) }
            if number % 8 == 0 { lines.append(#"{"kind":"markAll","user":"bob","as":"deleted"}"#) }
            if number % 9 == 0 { lines.append(#"{"kind":"markAll","user":"ada","as":"deleted","thread":"t1"}"#) }
            if number % 13 == 0 { lines.append(#"{"kind":"mark","user":"ada","as":"read","items":["k\#(number)"]}"#) }
            if number % 20 == 0 { lines.append(#"{"kind":"unsubscribe","user":"ada","topic":"news"}"#) }
            if number % 20 == 1, number > 1 { lines.append(#"{"kind":"subscribe","user":"ada","topic":"news"}"#) }
        }
        try TraylogRun.of(["append", "-", "--store", store.directory], input: Data(lines.joined(separator: "\n").utf8))
            .expectSuccess()
        let seen = try store.run("history", "ada", "--json").lines.map(JSONValue.object)
            .filter { $0["kind"] == "traySeen" }.compactMap { $0["seq"]?.number }
        for seq in seen.prefix(3) { try store.run("undo", "ada", "\(Int(seq))").expectSuccess() }
        try store.run("tick", "--now", "2021-01-01T00:00:00Z").expectSuccess()
        try store.append(
            #"{"kind":"markAll","user":"ada","as":"read"}"#, #"{"kind":"notify","user":"ada","title":"Last"}"#)
    }

    private func withCompacted(_ body: (TestStore, _ archives: String) throws -> Void) throws {
        try withStore { store in
            try live(store)
            let archives = store.directory + "-archives"
            let head = try #require(try JSONValue.object(store.run("stats", "--json").text)["head"]?.number)
            for floor in [Int(head) / 2, Int(head) - 2] {
                try store.run("compact", "--before", "\(floor)", "--archive", archives).expectSuccess()
            }
            try body(store, archives)
        }
    }

    @Test func anAuditWithArchivesEqualsTheAuditBeforeCompaction() throws {
        try withStore { store in
            try live(store)
            let before = try store.run("audit", "ada", "--json", "--trays", "--disclose").lines
            let archives = store.directory + "-archives"
            let head = try #require(try JSONValue.object(before[0])["through"]?.number)
            for floor in [Int(head) / 2, Int(head)] {
                try store.run("compact", "--before", "\(floor)", "--archive", archives).expectSuccess()
            }
            let dropped = try #require(try JSONValue.object(store.run("stats", "--json").text)["dropped"]?.number)
            #expect(dropped > 50)
            let after = try store.run(
                "audit", "ada", "--json", "--trays", "--disclose", "--as-of", "\(Int(head))", "--archive", archives)
            #expect(after.status == 0, "\(after.errorText)")
            #expect(after.lines == before)
            let middle = try store.run("audit", "ada", "--json", "--from", "40", "--to", "90", "--archive", archives)
            #expect(
                try middle.outputs("event").dropFirst().count
                    == before.dropFirst().dropLast().count { line in
                        guard case .object(let event)? = try JSONValue.object(line)["event"] else { return false }
                        return (40...90).contains(event["seq"]?.number ?? 0)
                    })
        }
    }

    @Test func anAuditsTableAndPageNameTheArchives() throws {
        try withCompacted { store, archives in
            let text = try store.run("audit", "ada", "--archive", archives)
            #expect(text.text.contains("Title 1 ") || text.text.contains("Title 1\n"), "\(text.text)")
            #expect(text.text.contains("; included from \(archives)"))
            #expect(try store.run("audit", "ada", "--html", "-", "--archive", archives).text.contains("included from"))
            let day = try store.run(
                "audit", "ada", "--archive", archives, "--from", "yesterday", "--json", "--no-proofs")
            #expect(
                try day.lines.count
                    == store.run("audit", "ada", "--archive", archives, "--json", "--no-proofs").lines.count)
        }
    }

    @Test func anAuditWithOneArchiveMissingIsRefused() throws {
        try withCompacted { store, archives in
            let manager = FileManager.default
            let names = try manager.contentsOfDirectory(atPath: archives).sorted()
            #expect(names.count == 2)
            try manager.removeItem(atPath: archives + "/" + names[0])
            let run = try store.run("audit", "ada", "--archive", archives)
            #expect(run.status == 66 && run.errorText.contains("is neither in the store nor in its archives"))
            // A person's file lists the events that are left.
            #expect(try store.run("dossier", "ada", archives + "-ada", "--archive", archives).status == 0)
        }
    }

    @Test func aReportAndADossierWithArchivesAreProvedEventByEvent() throws {
        try withCompacted { store, archives in
            let (key, head, report) = (store.directory + ".key", store.directory + ".head", store.directory + ".report")
            try TraylogRun.of(["keygen", key, "--name", "log.example"]).expectSuccess()
            try Data(store.run("tree-head", "--sign", key).output).write(to: URL(filePath: head))
            let made = try store.run("audit", "ada", "--json", "--disclose", "--archive", archives)
            try made.output.write(to: URL(filePath: report))
            let checked = try TraylogRun.of(["check", report, "--tree-head", head, "--public-key", key + ".pub"])
            #expect(checked.status == 0, "\(checked)")
            var bytes = made.output
            let place = try #require(bytes.firstRange(of: Data("Title 1\"".utf8)))
            bytes[place.lowerBound] ^= 1
            try bytes.write(to: URL(filePath: report))
            #expect(try TraylogRun.of(["check", report, "--tree-head", head]).status == 1)

            let folder = store.directory + "-ada"
            try store.run("dossier", "ada", folder, "--archive", archives).expectSuccess()
            let file = folder + "/dossier.jsonl"
            // The dossier begins by recording who asked for it.
            try Data(store.run("tree-head", "--sign", key).output).write(to: URL(filePath: head))
            #expect(try TraylogRun.of(["check", file, "--tree-head", head]).status == 0)
            let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map(String.init)
            let roles = try lines.map(JSONValue.object).filter { $0["archived"] != nil }
            // Expired broadcasts have left the log, but belong to a person's data.
            #expect(roles.contains { $0["role"] == "topic" && $0["proof"] != nil })
            #expect(roles.contains { $0["role"] == "own" && $0["proof"] != nil })
            // The person's actions elsewhere that have left the log have no proof.
            let caused = roles.filter { $0["role"] == "actor" }
            #expect(!caused.isEmpty && caused.allSatisfy { $0["proof"] == nil })
        }
    }
}

extension TraylogRun {
    /// - Throws: ``UnexpectedStatus`` for any exit status except 0.
    @discardableResult
    func expectSuccess() throws -> TraylogRun {
        guard status == 0 else { throw UnexpectedStatus(status: status, errors: errorText) }
        return self
    }
}
