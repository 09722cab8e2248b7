import Foundation
import Testing

/// `audit --complete` and `check --complete`; Tools/complete_test.py changes such files in every way.
struct CompleteHistoryTests {
    /// A person with topics: one joined, left and edited afterwards, one still joined, one that is silent.
    private func live(_ store: TestStore) throws {
        try store.append(
            #"{"kind":"broadcast","topic":"news","title":"Too early"}"#,
            #"{"kind":"subscribe","user":"ada","topic":"news"}"#, #"{"kind":"subscribe","user":"ada","topic":"quiet"}"#,
            #"{"kind":"edit","item":1,"title":"Edited for others"}"#,
            #"{"kind":"broadcast","topic":"news","title":"For all","category":"c"}"#,
            #"{"kind":"notify","user":"bob","title":"For bob"}"#,
            #"{"kind":"notify","user":"ada","key":"k","title":"One","data":{"n":[1.0]}}"#,
            #"{"kind":"unsubscribe","user":"ada","topic":"news"}"#,
            #"{"kind":"broadcast","topic":"news","title":"Too late"}"#,
            #"{"kind":"edit","item":5,"title":"Edited after she left"}"#,
            #"{"kind":"seeTray","user":"ada"}"#, #"{"kind":"undo","user":"ada","event":11}"#,
            #"{"kind":"mark","user":"ada","as":"read","items":[5]}"#)
    }

    private func complete(_ store: TestStore, _ user: String, _ more: String...) throws -> (
        file: String, run: TraylogRun
    ) {
        let run = try TraylogRun.of(["--store", store.directory, "audit", user, "--complete"] + more).expectSuccess()
        let file = store.directory + "-\(user).jsonl"
        try run.output.write(to: URL(filePath: file))
        return (file, run)
    }

    private func check(_ store: TestStore, _ file: String, asOf: String? = nil) throws -> TraylogRun {
        let head = store.directory + ".head"
        let moment = asOf.map { ["--as-of", $0] } ?? []
        try TraylogRun.of(["--store", store.directory, "tree-head", "--json"] + moment).output
            .write(to: URL(filePath: head))
        return try TraylogRun.of(["check", file, "--complete", "--tree-head", head])
    }

    @Test func aCompleteHistorySaysWhoLookedAndIsCheckedWithoutTheStore() throws {
        try withStore { store in
            try live(store)
            let (file, _) = try complete(
                store, "ada", "--actor", "eve", "--device", "kiosk", "--purpose", "complaint 17")
            let audited = try #require(try store.log().last)
            #expect(audited["kind"] == "audited" && audited["purpose"] == "complaint 17" && audited["actor"] == "eve")
            #expect(audited["device"] == "kiosk" && audited["user"] == "ada")
            let checked = try check(store, file)
            #expect(
                checked.status == 0
                    && checked.text.hasPrefix(
                        "complete: all 8 events of ada and 4 of 2 topics, and no others, lead to 1 unread, 1 unseen, 2 in "
                    ),
                "\(checked.text)\(checked.errorText)")
            let text = try String(contentsOfFile: file, encoding: .utf8)
            #expect(!text.contains("Too late") && !text.contains("For bob") && !text.contains("Edited for others"))
            #expect(text.contains("Edited after she left"))
            // Each look adds an event.
            let again = try check(store, try complete(store, "ada").file)
            #expect(again.status == 0 && again.text.contains("all 9 events of ada"), "\(again.text)")
        }
    }

    @Test func aChangedCountAndAMissingEventAreNamed() throws {
        try withStore { store in
            try live(store)
            let (file, _) = try complete(store, "ada")
            let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map(String.init)
            func write(_ lines: [String]) throws {
                try (lines.joined(separator: "\n") + "\n").write(toFile: file, atomically: true, encoding: .utf8)
            }
            try write(lines.filter { !$0.contains(#""title":"One""#) || $0.hasPrefix(#"{"item""#) })
            let missing = try check(store, file)
            #expect(missing.status == 1 && missing.text.hasPrefix("revision 3 of ada is missing"), "\(missing.text)")
            try write(lines.filter { !$0.contains(#""topic":"news","proof""#) })
            #expect(try check(store, file).text.hasPrefix("revision 2 of topic news is missing"))
            try write(lines.map { $0.hasPrefix(#"{"tray""#) ? $0.replacing(#""unread":1"#, with: #""unread":0"#) : $0 })
            let counted = try check(store, file)
            #expect(
                counted.status == 1 && counted.text.contains("tray: is not what the events lead to"), "\(counted.text)")
        }
    }

    @Test func aLaterTreeHeadIsRefusedWithBothSizes() throws {
        try withStore { store in
            try live(store)
            let (file, _) = try complete(store, "ada")
            try store.append(#"{"kind":"notify","user":"ada"}"#)
            let run = try check(store, file)
            #expect(run.status == 1 && run.text.contains("14") && run.text.contains("15 events"), "\(run.text)")
            #expect(try check(store, file, asOf: "14").status == 0)
        }
    }

    @Test func eventsRemovedByACompactionAreNamedAndArchivesAddThem() throws {
        try withStore { store in
            try live(store)
            try store.append(
                #"{"kind":"mark","user":"ada","as":"deleted","items":["k"]}"#, #"{"kind":"retract","item":5}"#)
            let archives = store.directory + "-archives"
            try store.run("compact", "--before", "15", "--archive", archives).expectSuccess()
            let (file, run) = try complete(store, "ada")
            #expect(
                run.errorText.contains("of ada") && run.errorText.contains("'--archive' adds them"), "\(run.errorText)")
            let partial = try check(store, file)
            #expect(partial.status == 1 && partial.text.hasPrefix("revision"), "\(partial.text)")
            let whole = try check(store, try complete(store, "ada", "--archive", archives).file)
            #expect(whole.status == 0, "\(whole.text)")
        }
    }

    @Test func theHistoryOfSomebodyWhoWasErasedEndsWithErased() throws {
        try withStore { store in
            try live(store)
            try store.run("erase", "ada", "--yes").expectSuccess()
            let head = try store.log().count
            let (file, _) = try complete(store, "erased-2")
            #expect(try store.log().count == head)
            let run = try check(store, file)
            #expect(
                run.status == 0
                    && run.text.hasPrefix("complete: all 8 events of erased-2: 7 erased, with kind and time left"),
                "\(run.text)")
            #expect(try TraylogRun.of(["--store", store.directory, "audit", "ada", "--complete"]).status == 65)
        }
    }
}
