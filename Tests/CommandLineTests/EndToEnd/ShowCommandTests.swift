import Foundation
import Testing

struct ShowCommandTests {
    private func withLife(_ body: (TestStore) throws -> Void) throws {
        try withStore { store throws in
            for line in [
                #"{"kind":"notify","user":"ada","key":"m1","title":"One","actor":"bob"}"#,
                #"{"kind":"notify","user":"ada","title":"Two"}"#,
                #"{"kind":"mark","user":"ada","as":"read","items":["m1"],"device":"phone"}"#,
                #"{"kind":"markAll","user":"ada","as":"deleted"}"#, #"{"kind":"undo","user":"ada","event":4}"#,
            ] {
                try store.append(line)
            }
            try body(store)
        }
    }

    @Test func anItemIsShownWithItsLife() throws {
        try withLife { store throws in
            for item in ["m1", "1"] {
                let life = try JSONValue.object(try store.run("show", "ada", item, "--json").text)
                #expect(life["user"] == "ada" && life["asOf"] == 5)
                guard case .object(let shown) = life["item"], case .array(let events) = life["life"] else {
                    Issue.record("item and life")
                    return
                }
                #expect(shown["seq"] == 1 && shown["read"] == .bool(true))
                #expect(!shown.keys.contains("deleted"))
                let seqs: [JSONValue?] = events.map { event in
                    if case .object(let members) = event { members["seq"] } else { nil }
                }
                #expect(seqs == [1, 3, 4, 5])
            }
            let text = try store.run("show", "ada", "m1").text
            #expect(text.contains("phone") && text.contains("bob") && text.contains("undone"))
        }
    }

    @Test func showAnswersAsOfAMoment() throws {
        try withLife { store throws in
            let life = try JSONValue.object(try store.run("show", "ada", "m1", "--as-of", "4", "--json").text)
            guard case .object(let shown) = life["item"] else {
                Issue.record("no item")
                return
            }
            #expect(shown["deleted"] == .bool(true))
        }
    }

    @Test func anEventIsShownInFull() throws {
        try withLife { store throws in
            let log = try store.run("log", "--json").lines
            #expect(try store.run("show", "3", "--json").lines == [log[2]])
            let text = try store.run("show", "1").text
            #expect(text.contains("summary count  1") && text.contains("level          active"))
        }
    }

    @Test func showNamesTheEventBehindASeqThatIsNoItem() throws {
        try withLife { store throws in
            try store.append(#"{"kind":"notify","user":"bob","title":"His"}"#)
            try store.append(#"{"kind":"broadcast","topic":"news","title":"All"}"#)
            for (item, words) in [
                ("3", "event 3 is marked, no item; 'traylog show 3' shows it"), ("6", "an item of bob, not of ada"),
                ("7", "a broadcast to news, which ada did not receive"),
                ("99", "there is no event 99; the newest is 7"),
            ] {
                let run = try store.run("show", "ada", item)
                #expect(run.status == 65 && run.errorText.contains("unknownItem: ") && run.errorText.contains(words))
                let json = try JSONValue.object(try store.run("show", "ada", item, "--json").errorText)
                #expect(json["error"] == "unknownItem" && json.count == 2)
            }
            let later = try store.run("show", "ada", "2", "--as-of", "1")
            #expect(later.status == 65 && later.errorText.contains("event 2 came later"))
        }
    }

    @Test func showRefusesUnknownItems() throws {
        try withLife { store throws in
            for arguments in [
                ["show", "6"], ["show", "0"], ["show", "ada", "9"], ["show", "bob", "1"], ["show", "ada", "m2"],
            ] {
                let run = try TraylogRun.of(["--store", store.directory] + arguments)
                #expect(run.status == 65 && run.output.isEmpty, "\(arguments)")
            }
            #expect(try store.run("show", "ada").status == 64)
            #expect(try store.run("show", "1", "--as-of", "2").status == 64)
        }
    }

    @Test func usersAreChosenAndSorted() throws {
        try withStore { store throws in
            for (user, count) in [("team-a", 1), ("team-b", 3), ("ann", 2), ("tea", 3), ("zoe", 1)] {
                for _ in 0..<count { try store.append(#"{"kind":"notify","user":"\#(user)"}"#) }
            }
            func users(_ arguments: String...) throws -> [String?] {
                try TraylogRun.of(["--store", store.directory, "--json", "users"] + arguments).outputs("user").map {
                    $0?.text
                }
            }
            #expect(try users("--prefix", "team-") == ["team-a", "team-b"])
            #expect(try users("--prefix", "tea") == ["tea", "team-a", "team-b"])
            // The last line says where to go on.
            #expect(try users("--limit", "2") == ["ann", "tea", nil])
            #expect(try users("--limit", "2", "--cursor", "tea") == ["team-a", "team-b", nil])
            #expect(try users("--limit", "2", "--cursor", "team-b") == ["zoe"])
            #expect(try users("--sort", "unread") == ["tea", "team-b", "ann", "team-a", "zoe"])
            #expect(try users("--sort", "unread", "--limit", "1", "--prefix", "team") == ["team-b"])
            #expect(try users("--limit", "0") == [])
            #expect(try users("--prefix", "x") == [])
        }
    }
}
