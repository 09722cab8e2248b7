import Foundation
import Testing

struct AudienceCommandTests {
    /// Event 4 is a broadcast to ada, bo and cyd; ada has read it, bo has seen it.
    private func withNotice(_ body: (TestStore) throws -> Void) throws {
        try withStore { store throws in
            for line in [
                #"{"kind":"subscribe","user":"ada","topic":"staff"}"#,
                #"{"kind":"subscribe","user":"bo","topic":"staff"}"#,
                #"{"kind":"subscribe","user":"cyd","topic":"staff"}"#,
                #"{"kind":"broadcast","topic":"staff","title":"Fire drill"}"#,
                #"{"kind":"mark","user":"ada","as":"read","items":[4]}"#, #"{"kind":"seeTray","user":"bo"}"#,
                #"{"kind":"subscribe","user":"late","topic":"staff"}"#,
            ] {
                try store.append(line)
            }
            try body(store)
        }
    }

    @Test func theCountsAreThoseOfEachMoment() throws {
        try withNotice { store throws in
            #expect(
                try store.run("audience", "4", "--json").text
                    == #"{"item":4,"asOf":7,"recipients":3,"seen":2,"read":1,"archived":0,"deleted":0,"awaiting":0,"outcomes":{},"erased":0}"#
                    + "\n")
            #expect(
                try store.run("audience", "4", "--json", "--as-of", "5").text
                    == #"{"item":4,"asOf":5,"recipients":3,"seen":1,"read":1,"archived":0,"deleted":0,"awaiting":0,"outcomes":{},"erased":0}"#
                    + "\n")
            #expect(
                try store.run("audience", "4", "--json", "--as-of", "3").text
                    == #"{"item":4,"asOf":3,"recipients":0,"seen":0,"read":0,"archived":0,"deleted":0,"awaiting":0,"outcomes":{},"erased":0}"#
                    + "\n")
            #expect(try store.run("audience", "4").text.contains("recipients  3\nseen        2 (67 %)\n"))
        }
    }

    @Test func aListNamesRecipientsInOrderAndSaysWhereItGoesOn() throws {
        try withNotice { store throws in
            func users(_ arguments: String...) throws -> [JSONValue?] {
                try TraylogRun.of(["--store", store.directory, "audience", "4", "--json", "--list"] + arguments)
                    .outputs("user")
            }
            #expect(try users("unread") == ["bo", "cyd"])
            #expect(try users("read") == ["ada"])
            #expect(try users("seen") == ["ada", "bo"])
            #expect(try users("unseen") == ["cyd"])
            #expect(try users("unread", "--as-of", "4") == ["ada", "bo", "cyd"])
            let page = try store.run("audience", "4", "--json", "--list", "unread", "--limit", "1")
            #expect(try page.outputs("user") == ["bo", nil])
            let next = try #require(try page.outputs("next").last??.text)
            #expect(try users("unread", "--limit", "1", "--cursor", next) == ["cyd"])
            let line = try JSONValue.object(page.lines[0])
            guard case .object(let seen)? = line["seen"] else {
                Issue.record("no event made it seen: \(page.text)")
                return
            }
            #expect(seen["seq"] == 6 && line["read"] == nil)
            #expect(try store.run("audience", "4", "--list", "unread").lines.count == 3)
        }
    }

    @Test func answersAreCountedAndListed() throws {
        try withStore { store throws in
            for user in ["ada", "bo", "cyd", "dan"] {
                try store.append(#"{"kind":"subscribe","user":"\#(user)","topic":"staff"}"#)
            }
            let actions = #"[{"id":"yes","label":"I come"},{"id":"no","label":"I do not"}]"#
            for line in [
                #"{"kind":"broadcast","topic":"staff","title":"Party?","actions":\#(actions)}"#,
                #"{"kind":"act","user":"ada","item":5,"action":"yes","note":"with Eve"}"#,
                #"{"kind":"act","user":"cyd","item":5,"action":"yes","actor":"his assistant"}"#,
                #"{"kind":"mark","user":"dan","as":"deleted","items":[5]}"#,
            ] {
                try store.append(line)
            }
            #expect(
                try store.run("audience", "5", "--json").text
                    == #"{"item":5,"asOf":8,"recipients":4,"seen":2,"read":2,"archived":0,"deleted":1,"awaiting":1,"#
                    + #""outcomes":{"yes":2},"erased":0}"# + "\n")
            #expect(try store.run("audience", "5").text.contains("awaiting    1 (25 %)\nanswer yes  2 (50 %)\n"))
            #expect(
                try store.run("audience", "5", "--json", "--as-of", "5").text.contains(
                    #""awaiting":4,"outcomes":{}"#))
            let acted = try store.run("audience", "5", "--json", "--list", "acted")
            #expect(try acted.outputs("user") == ["ada", "cyd"])
            guard case .object(let outcome)? = try JSONValue.object(acted.lines[0])["outcome"] else {
                Issue.record("no outcome: \(acted.text)")
                return
            }
            #expect(outcome["action"] == "yes" && outcome["note"] == "with Eve" && outcome["actor"] == "ada")
            #expect(outcome["seq"] == 6 && outcome["at"] != nil)
            #expect(acted.lines[1].contains(#""outcome":{"action":"yes","actor":"his assistant","seq":7,"#))
            #expect(try store.run("audience", "5", "--json", "--list", "awaiting").text == "{\"user\":\"bo\"}\n")
            #expect(try store.run("audience", "5", "--list", "acted").lines[1].hasSuffix("yes"))
            // A gone item awaits no answers, and keeps those it had.
            try store.append(#"{"kind":"retract","item":5}"#)
            #expect(
                try store.run("audience", "5", "--json").text.contains(#""awaiting":0,"outcomes":{"yes":2}"#))
        }
    }

    @Test func erasedRecipientsAreCountedApart() throws {
        try withNotice { store throws in
            try store.append(#"{"kind":"unsubscribe","user":"bo","topic":"staff"}"#)
            try store.append(#"{"kind":"broadcast","topic":"staff","title":"Second"}"#)
            for user in ["ada", "bo", "late"] { #expect(try store.run("erase", user, "--yes").status == 0) }
            #expect(
                try store.run("audience", "4", "--json").text
                    == #"{"item":4,"asOf":12,"recipients":1,"seen":0,"read":0,"archived":0,"deleted":0,"awaiting":0,"outcomes":{},"erased":2}"#
                    + "\n")
            #expect(
                try store.run("audience", "9", "--json").text
                    == #"{"item":9,"asOf":12,"recipients":1,"seen":0,"read":0,"archived":0,"deleted":0,"awaiting":0,"outcomes":{},"erased":2}"#
                    + "\n")
            let event = try JSONValue.object(store.run("show", "11", "--json").text)
            #expect(
                event["spans"] == .array([.object(["topic": "staff", "from": 2, "to": 8])]))
        }
    }

    @Test func anItemThatIsNotABroadcastIsRefused() throws {
        try withNotice { store throws in
            #expect(try store.run("audience", "5").status == 65)
            #expect(try store.run("audience", "5").errorText.contains("event 5 is marked"))
            #expect(try store.run("audience", "99").status == 65)
            #expect(try store.run("audience", "4", "--as-of", "99").status == 65)
            #expect(try store.run("audience", "x").status == 64)
            #expect(try store.run("audience", "4", "--limit", "1").status == 64)
            #expect(try store.run("audience", "4", "--list", "unread", "--limit", "0").status == 64)
        }
    }

    @Test func aGoneItemKeepsItsLastStates() throws {
        try withNotice { store throws in
            try store.append(#"{"kind":"retract","item":4}"#)
            try store.append(#"{"kind":"seeTray","user":"cyd"}"#)
            try store.append(#"{"kind":"markAll","user":"bo","as":"read"}"#)
            let line = try store.run("audience", "4", "--json").text
            #expect(
                line == #"{"item":4,"asOf":10,"recipients":3,"seen":2,"read":1,"archived":0,"deleted":0,"#
                    + #""awaiting":0,"outcomes":{},"erased":0}"# + "\n")
        }
    }
}
