import Foundation
import Testing

/// What an operator keeps a store in order with: health, figures, holds, a person's file.
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
            #expect(late.status == 1 && late.text.contains("there is no backup") && late.text.contains("nobody has"))
            #expect(try store.run("backup", store.directory + "-copy", "--verify").text.contains(", verified"))
            #expect(try store.run("verify").status == 0)
            #expect(try store.run("health", "--max-backup-age", "1d", "--max-verified-age", "1d").status == 0)
            let json = try store.run("health", "--json").text
            #expect(json.hasPrefix(#"{"ok":true,"#) && json.contains(#""lastBackupHead":6"#))
            #expect(json.contains(#""lastVerifiedHead":6"#))
            try FileManager.default.removeItem(atPath: store.directory + "-copy")
        }
    }

    @Test func whatIsDueAndNotTickedNeedsSomebody() throws {
        try withStore { store in
            try store.append(#"{"kind":"notify","user":"ada","expiresAt":"2020-01-01T00:00:00Z"}"#)
            let run = try store.run("health")
            #expect(run.status == 1 && run.text.contains("1 due since") && run.text.contains("traylog tick"))
            #expect(try store.run("tick").status == 0)
            #expect(try store.run("health").status == 0)
        }
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

    @Test func aPersonsFileHasAllThatIsHeldAndCanBeChecked() throws {
        try withStore { store in
            try fill(store)
            let (target, head) = (store.directory + "-ada", store.directory + ".head")
            let run = try store.run("dossier", "ada", target, "--json")
            #expect(try run.outputs("own") == [4] && run.outputs("topic") == [1] && run.outputs("actor") == [1])
            try store.run("tree-head", "--json").output.write(to: URL(filePath: head))
            let check = ["check", target + "/dossier.jsonl", "--tree-head", head]
            #expect(try TraylogRun.of(check).status == 0)
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
