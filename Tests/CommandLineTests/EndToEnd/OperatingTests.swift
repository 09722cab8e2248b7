import Foundation
import Testing

/// Operators' commands: health, figures, holds, a person's file.
struct OperatingTests {
    private func fill(_ store: TestStore) throws {
        try store.append(
            #"{"kind":"notify","user":"ada","key":"k1","title":"One"}"#,
            #"{"kind":"notify","user":"ada","key":"k2","title":"Two","actor":"bob"}"#,
            #"{"kind":"subscribe","user":"ada","topic":"news"}"#, #"{"kind":"broadcast","topic":"news","title":"All"}"#,
            #"{"kind":"notify","user":"bob","title":"From ada","actor":"ada"}"#,
            #"{"kind":"mark","user":"ada","as":"deleted","items":["k1"]}"#)
    }

    @Test func aHealthyStoreIsOkAndAnAgeThatIsExceededIsNamed() throws {
        try withStore { store in
            try fill(store)
            let run = try store.run("health")
            #expect(run.status == 0 && run.lines.count == 1 && run.text.hasPrefix("ok: head 6, last event "))
            let late = try store.run("health", "--max-backup-age", "1d", "--writer")
            #expect(late.status == 1 && late.text.contains("there is no backup"))
            #expect(late.text.contains("no process has the store open for writing"))
            #expect(try store.run("backup", store.directory + "-copy", "--verify").text.contains(", verified"))
            #expect(try store.run("verify").status == 0)
            #expect(try store.run("health", "--max-backup-age", "1d", "--max-verified-age", "1d").status == 0)
            let json = try store.run("health", "--json").text
            #expect(json.hasPrefix(#"{"ok":true,"#) && json.contains(#""lastBackupHead":6"#))
            #expect(json.contains(#""lastVerifiedHead":6"#))
            try FileManager.default.removeItem(atPath: store.directory + "-copy")
        }
    }

    @Test func anIncrementalBackupCatchesUpWithTheStore() throws {
        try withStore { store in
            try fill(store)
            let copy = TestStore(directory: store.directory + "-copy")
            defer { try? FileManager.default.removeItem(atPath: copy.directory) }
            func update() throws -> TraylogRun { try store.run("backup", copy.directory, "--incremental", "--verify") }
            func root(_ store: TestStore) throws -> String { try store.run("tree-head", "--json").text }
            // The first one is a whole copy.
            #expect(try update().text.hasPrefix("copied: events through 6, "))
            #expect(try update().text.hasPrefix("copied: events through 6, "))
            try store.append(#"{"kind":"notify","user":"eve","title":"New"}"#, #"{"kind":"seeTray","user":"ada"}"#)
            #expect(try update().text.hasPrefix("copied: events through 8, "))
            #expect(try root(copy) == root(store))
            // A compaction and an erasure are repeated.
            #expect(try store.run("compact", "--before", "8", "--yes").status == 0)
            #expect(try store.run("erase", "bob", "--yes").status == 0)
            try store.append(#"{"kind":"notify","user":"eve","title":"Newer"}"#)
            let last = try update()
            #expect(last.status == 0 && last.text.hasPrefix("copied: events through 11, "), "\(last.errorText)")
            #expect(try root(copy) == root(store))
            #expect(try copy.run("log", "--json").text == store.run("log", "--json").text)
            #expect(try copy.run("replay").status == 0)
        }
    }

    @Test func aBackupOfAnotherStoreIsNotMixedUp() throws {
        try withStore { store in
            try fill(store)
            let other = TestStore(directory: store.directory + "-other")
            let copy = TestStore(directory: store.directory + "-copy")
            defer {
                for store in [other, copy] { try? FileManager.default.removeItem(atPath: store.directory) }
            }
            try fill(other)
            #expect(try other.run("backup", copy.directory).status == 0)
            let run = try store.run("backup", copy.directory, "--incremental")
            #expect(run.status == 74 && run.errorText.contains("of another store"), "\(run.errorText)")
            #expect(try copy.run("verify").status == 0)
            try other.append(#"{"kind":"notify","user":"ada"}"#)
            #expect(try other.run("backup", copy.directory, "--incremental").status == 0)
            // The store is restored from a copy that is older than the backup.
            let ahead = try store.run("backup", copy.directory, "--incremental")
            #expect(ahead.status == 74 && ahead.errorText.contains("the backup has 7 events and the store 6"))
        }
    }

    @Test func categoriesStayAsLongAsTheyShould() throws {
        try withStore { store in
            try store.append(
                #"{"kind":"notify","user":"ada","category":"promotion","title":"Old"}"#,
                #"{"kind":"notify","user":"ada","category":"message","title":"Stays"}"#,
                #"{"kind":"notify","user":"eve","category":"promotion","title":"Held"}"#,
                #"{"kind":"subscribe","user":"ada","topic":"news"}"#,
                #"{"kind":"broadcast","topic":"news","category":"promotion","title":"All"}"#)
            #expect(try store.run("hold", "eve").status == 0)
            let arguments = ["compact", "--before", "1", "--yes", "--retain", "promotion=0", "--retain", "message=9"]
            func compact(_ more: String...) throws -> TraylogRun {
                try TraylogRun.of(["--store", store.directory] + arguments + more)
            }
            let dry = try compact("--dry-run")
            #expect(
                dry.lines.prefix(2) == ["would take back: 2 items of promotion", "would take back: 0 items of message"])
            #expect(try store.log().count == 6)
            let run = try compact("--json", "--actor", "ops")
            #expect(run.status == 0 && run.text.contains(#""retracted":{"promotion":2,"message":0}"#), "\(run)")
            #expect(try store.run("log", "--kind", "retracted", "--actor", "ops", "--json").lines.count == 2)
            #expect(try store.run("inbox", "ada", "--json").text.contains("Stays"))
            #expect(try store.run("tray", "ada", "--json").outputs("total") == [1])
            #expect(try store.run("tray", "eve", "--json").outputs("total") == [1])
            #expect(try compact("--json").text.contains(#""retracted":{"promotion":0,"message":0}"#))
            // They leave the log with the first compaction whose floor is beyond.
            try store.append(#"{"kind":"notify","user":"zoe"}"#)
            #expect(try store.run("compact", "--before", "9", "--yes", "--actor", "ops").status == 0)
            #expect(try store.run("log", "--json").text.contains("Old") == false)
            #expect(try store.run("log", "--kind", "compacted", "--json").outputs("actor") == [.text("ops")])
            #expect(try store.run("compact", "--before", "8", "--retain", "promotion").status == 64)
        }
    }

    @Test func somebodyOnLegalHoldIsMarkedWhereverPeopleLook() throws {
        try withStore { store in
            try fill(store)
            #expect(try !store.run("users").text.contains("LEGAL HOLD"))
            #expect(try !store.run("tray", "ada").text.contains("legal hold"))
            #expect(try store.run("hold", "ada", "--actor", "counsel").status == 0)
            let lists = [["inbox", "ada"], ["threads", "ada"]]
            for command in lists {
                let text = try PseudoTerminal.text(
                    of: command + ["--store", store.directory], columns: 80, environment: ["NO_COLOR": "1"])
                #expect(text.hasPrefix("legal hold  since ") && text.contains("by counsel, event 7"), "\(text)")
                // Whatever reads a pipe gets what it always got.
                #expect(try !TraylogRun.of(command + ["--store", store.directory]).text.contains("hold"))
                #expect(try !TraylogRun.of(command + ["--json", "--store", store.directory]).text.contains("hold"))
            }
            #expect(try !store.run("inbox", "ada", "--csv").text.contains("hold"))
            let page = try store.run("audit", "ada", "--html", "-").text
            #expect(page.contains("<dt>Legal hold</dt><dd>since <time"))
            #expect(page.contains("by <bdi>counsel</bdi>, event 7"))
            #expect(try !store.run("audit", "bob", "--html", "-").text.contains("Legal hold</dt>"))
            for command in [
                ["tray", "ada"], ["show", "ada", "2"], ["show", "2"], ["audit", "ada"], ["diff", "ada", "--from", "1"],
            ] {
                let run = try TraylogRun.of(command + ["--store", store.directory])
                #expect(run.text.contains("legal hold") && run.text.contains("by counsel, event 7"), "\(run.text)")
                let json = try TraylogRun.of(command + ["--json", "--store", store.directory])
                #expect(!json.text.contains("hold"))
            }
            let users = try store.run("users").lines
            #expect(users.first?.hasSuffix("LEGAL HOLD") == true)
            #expect(users.filter { $0.hasSuffix("held") }.map { $0.prefix(3) } == ["ada"])
            #expect(try !store.run("users", "--csv").text.contains("held"))
            // A list without anybody who is held has no column for it, and one with somebody fits the window.
            for words in [["--prefix", "b"], ["--cursor", "ada"], ["--sort", "unread", "--prefix", "b"]] {
                #expect(try !TraylogRun.of(["users", "--store", store.directory] + words).text.contains("HOLD"))
            }
            let narrow = try PseudoTerminal.text(
                of: ["users", "--store", store.directory], columns: 80, environment: ["NO_COLOR": "1"])
            #expect(narrow.split(separator: "\n").first?.hasSuffix("  HOLD") == true, "\(narrow)")
            #expect(narrow.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(narrow)")
            #expect(try store.run("release", "ada").status == 0)
            #expect(try !store.run("users").text.contains("held"))
        }
    }

    @Test func overdueItemsMakeTheStoreUnhealthy() throws {
        try withStore { store in
            try store.append(#"{"kind":"notify","user":"ada","expiresAt":"2020-01-01T00:00:00Z"}"#)
            let run = try store.run("health")
            #expect(run.status == 1 && run.text.contains("1 due since"))
            #expect(run.errorText.contains("next: traylog tick --store \(store.directory)"))
            #expect(try store.run("tick").status == 0)
            #expect(try store.run("health").status == 0)
        }
    }

    @Test func aThousandOverdueItemsAreAThousandOrMore() throws {
        try withStore { store in
            let line = #"{"kind":"notify","user":"ada","expiresAt":"2020-01-01T00:00:00Z"}"#
            try store.append([String](repeating: line, count: 1_001).joined(separator: "\n"))
            let run = try store.run("health")
            #expect(run.status == 1 && run.text.contains("1,000 or more due since"), "\(run.text)")
            #expect(try store.run("stats").text.contains("1,000 or more"))
            #expect(try store.run("health", "--json").outputs("overdue") == [1_000])
        }
    }

    @Test func aHoldOnANameThatNobodyHasIsDoneWithANote() throws {
        try withStore { store in
            try store.append(#"{"kind":"notify","user":"dave"}"#)
            let note = #"there is no user "davee" yet; did you mean "dave"?"#
            for command in ["release", "hold"] {
                let run = try store.run(command, "davee")
                #expect(run.status == 0 && run.errorText == "traylog: note: \(note)\n", "\(run.errorText)")
            }
            // It is a user from then on.
            #expect(try store.run("hold", "davee").errorText.isEmpty)
            #expect(try store.run("hold", "dave").errorText.isEmpty)
            let json = try store.run("hold", "dvae", "--json")
            #expect(try json.outputs("result") == ["appended"] && json.lines.count == 1)
            #expect(try json.errors("note") == ["unknownUser"] && json.errorText.contains("did you mean"))
            #expect(try store.run("hold", "zoe").errorText == "traylog: note: there is no user \"zoe\" yet\n")
        }
    }

    @Test func helpOnACommandThatThereIsNotIsAUsageError() throws {
        let run = try TraylogRun.of(["help", "inbx"])
        #expect(run.status == 64 && run.text.isEmpty)
        #expect(run.errorText.contains("There is no command 'inbx'. Did you mean 'inbox'?"), "\(run.errorText)")
        #expect(try TraylogRun.of(["help", "inbox"]).text.contains("USAGE: traylog inbox"))
        #expect(try TraylogRun.of(["help"]).text.contains("SUBCOMMANDS") && TraylogRun.of(["help"]).status == 0)
    }

    @Test func figuresHaveTheFormOfPrometheus() throws {
        try withStore { store in
            try fill(store)
            let lines = try store.run("stats", "--prometheus").lines
            #expect(lines.contains("# TYPE traylog_head gauge") && lines.contains("traylog_head 6"))
            #expect(lines.allSatisfy { $0.hasPrefix("# ") || $0.split(separator: " ").count == 2 })
        }
    }

    @Test func aHeldUserIsNeitherCompactedNorErased() throws {
        try withStore { store in
            try fill(store)
            #expect(try store.run("hold", "ada", "--actor", "legal", "--json").outputs("result") == ["appended"])
            #expect(try store.run("hold", "ada").text == "unchanged: nothing to store\n")
            let before = try store.run("history", "ada", "--json").text
            let erasure = try store.run("erase", "ada", "--yes", "--json")
            #expect(erasure.status == 65)
            #expect(try erasure.errors("error") == ["held"])
            #expect(try store.run("compact", "--before", "7", "--yes").status == 0)
            #expect(try store.run("history", "ada", "--json").text == before)
            #expect(before.contains(#""kind":"held","user":"ada","actor":"legal""#))
            #expect(try store.run("verify").status == 0)
            #expect(try store.run("release", "ada").status == 0)
            #expect(try store.run("compact", "--before", "9", "--yes").status == 0)
            #expect(try store.run("history", "ada", "--json").lines.count < before.split(separator: "\n").count)
            #expect(try store.run("erase", "ada", "--yes").status == 0)
            #expect(try store.run("verify").status == 0)
            #expect(try store.run("replay").status == 0)
        }
    }

    @Test func aDossierHasAllDataOfAPersonAndCanBeChecked() throws {
        try withStore { store in
            try fill(store)
            let (target, head) = (store.directory + "-ada", store.directory + ".head")
            let run = try store.run("dossier", "ada", target, "--json")
            #expect(try run.outputs("own") == [5] && run.outputs("topic") == [1] && run.outputs("actor") == [1])
            try store.run("tree-head", "--json").output.write(to: URL(filePath: head))
            let check = ["check", target + "/dossier.jsonl", "--tree-head", head]
            #expect(try TraylogRun.of(check).status == 0)
            let whole = try TraylogRun.of(check + ["--complete"])
            #expect(whole.status == 0 && whole.text.hasPrefix("complete: all 5 events of ada"), "\(whole.text)")
            let path = URL(filePath: target + "/dossier.jsonl")
            let bytes = [UInt8](try Data(contentsOf: path))
            for index in stride(from: Int.random(in: 0..<499), to: bytes.count - 1, by: 499) {
                var changed = bytes
                changed[index] ^= 1
                try Data(changed).write(to: path)
                #expect(try TraylogRun.of(check).status == 1, "byte \(index)")
            }
            let page = try String(contentsOfFile: target + "/dossier.html", encoding: .utf8)
            #expect(
                page.contains("Own events") && page.contains("As the actor in other trays") && !page.contains("<script")
            )
            #expect(try store.run("erase", "ada", "--yes").status == 0)
            #expect(try store.run("dossier", "ada", target, "--json").outputs("actor") == [1])
            try FileManager.default.removeItem(atPath: target)
        }
    }

    @Test func aCommandWaitsForTheWriterWhenAsked() throws {
        try withStore { store in
            let holder = try Conversation(["append", "-", "--ack", "--store", store.directory])
            try holder.say(#"{"kind":"notify","user":"ada"}"# + "\n")
            _ = try holder.hear()
            #expect(try store.run("notify", "bob").status == 69)
            #expect(try store.run("stats").text.contains("process \(holder.processID)"))
            let waiting = try Conversation(["notify", "bob", "--wait", "60", "--store", store.directory])
            try holder.endInput()
            #expect(holder.waitForEnd() == 0)
            #expect(try waiting.hear() == "appended as event 2")
            #expect(waiting.waitForEnd() == 0)
        }
    }
}
