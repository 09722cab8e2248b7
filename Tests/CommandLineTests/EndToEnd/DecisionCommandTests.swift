import Foundation
import TestSupport
import Testing

/// `decision`, and `check` of its file; Tools/decision_test.py changes such files in every way, before two checkers.
struct DecisionCommandTests {
    /// Event 1 asks; 2 and 3 edit it, 5 answers as of 4, 6 edits it again.
    private func withDecision(_ body: (TestStore) throws -> Void) throws {
        try withStore { store in
            try store.append(
                #"{"kind":"notify","user":"ada","key":"pay","title":"Pay 1?","actions":[{"id":"yes","label":"Pay"},{"id":"no","label":"Do not"}]}"#,
                #"{"kind":"edit","user":"ada","item":1,"title":"Pay 2?"}"#,
                #"{"kind":"edit","user":"ada","item":1,"title":"Pay 3?","data":{"n":[1.0]}}"#,
                #"{"kind":"notify","user":"ada","title":"Other"}"#,
                #"{"kind":"act","user":"ada","item":"pay","action":"yes","note":"ok","actor":"eve","asOf":4}"#,
                #"{"kind":"edit","user":"ada","item":1,"title":"Pay 4?"}"#)
            try body(store)
        }
    }

    private func check(_ store: TestStore, _ file: Data, _ more: String...) throws -> TraylogRun {
        let (path, head) = (store.directory + ".decision", store.directory + ".head")
        try file.write(to: URL(filePath: path))
        try TraylogRun.of(["--store", store.directory, "tree-head", "--json"]).output.write(to: URL(filePath: head))
        return try TraylogRun.of(["check", path, "--tree-head", head] + more)
    }

    @Test func aDecisionSaysWhoAnsweredWhatToWhichText() throws {
        try withDecision { store in
            let file = try store.run("decision", "ada", "pay", "--json")
            #expect(file.status == 0 && file.lines.count == 1, "\(file.errorText)")
            #expect(try JSONValue.object(file.lines[0])["text"] != nil)
            let run = try check(store, file.output)
            #expect(
                run.status == 0
                    && run.text.hasPrefix(#"true: eve, for ada, answered "yes" (Pay) to "Pay 3?" (item 1) at "#)
                    && run.text.contains(
                        "as it was after event 4, which was edited later, by event 6, proved by the tree head of 6 events"
                    ),
                "\(run.text)")
            let said = try JSONValue.object(try check(store, file.output, "--json").text)
            #expect(
                said["ok"] == .bool(true) && said["decision"] == .bool(true) && said["item"] == 1 && said["later"] == 6)
            let text = try store.run("decision", "ada", "1").text
            #expect(text.contains("Pay (yes)") && text.contains("Pay 3?") && text.contains("by event 6"), "\(text)")
        }
    }

    /// A page can be older than the item that was pushed to it.
    @Test func anAnswerFromAnOlderPageThanItsItemIsToTheItemAsItCame() throws {
        try withStore { store in
            try store.append(
                #"{"kind":"notify","user":"bob","title":"Other"}"#,
                #"{"kind":"notify","user":"ada","key":"pay","title":"Pay 1?","actions":[{"id":"yes","label":"Pay"}]}"#,
                #"{"kind":"act","user":"ada","item":"pay","action":"yes","asOf":1}"#)
            let run = try check(store, try store.run("decision", "ada", "pay", "--json").output)
            #expect(
                run.status == 0 && run.text.contains(#"answered "yes" (Pay) to "Pay 1?""#),
                "\(run.text)\(run.errorText)")
        }
    }

    @Test func aDecisionIsProvedInTheTreeOfAnyMoment() throws {
        try withDecision { store in
            let file = try store.run("decision", "ada", "pay", "--json", "--as-of", "5")
            #expect(!file.text.contains(#""later":"#))
            // The present head is of another size, and the finding says so.
            let run = try check(store, file.output)
            #expect(
                run.status == 1 && run.text.contains("treeSize: is 5, and the tree head is of 6 events"), "\(run.text)")
            let early = try store.run("decision", "ada", "pay", "--json", "--as-of", "4")
            #expect(early.status == 65 && early.errorText.contains(#""error":"notAnswered""#))
        }
    }

    @Test func whatHasNoAnswerIsRefused() throws {
        try withDecision { store in
            for (item, error) in [("4", "notAnswered"), ("99", "unknownItem"), ("nothing", "unknownItem")] {
                let run = try store.run("decision", "ada", item, "--json")
                #expect(run.status == 65 && run.errorText.contains(#""error":"\#(error)""#), "\(run.errorText)")
            }
            #expect(try store.run("decision", "bob", "1").status == 65)
        }
    }

    @Test func aChangedByteOfADecisionIsFound() throws {
        try withDecision { store in
            let file = try store.run("decision", "ada", "pay", "--json").output
            for index in stride(from: Int.random(in: 0..<701), to: file.count - 1, by: sized(701, nightly: 13)) {
                var changed = file
                changed[index] ^= 1
                let run = try check(store, changed)
                #expect(run.status == 1 && run.lines.count >= 2, "byte \(index): \(run.text)")
            }
            #expect(try check(store, file + file).status == 1)
            #expect(try check(store, Data()).status == 1)
        }
    }

    @Test func anEditThatLeftTheLogNeedsTheArchive() throws {
        try withDecision { store in
            let archive = store.directory + ".archive"
            #expect(try store.run("compact", "--before", "6", "--archive", archive, "--yes").status == 0)
            let bare = try store.run("decision", "ada", "pay", "--json")
            #expect(
                bare.status == 65 && bare.errorText.contains(#""error":"compacted""#), "\(bare.text)\(bare.errorText)")
            let whole = try store.run("decision", "ada", "pay", "--json", "--archive", archive)
            let run = try check(store, whole.output)
            #expect(run.status == 0 && run.text.contains(#"to "Pay 3?""#), "\(whole.errorText)\(run.text)")
        }
    }

    @Test func whatWasErasedStandsAsItsLeaf() throws {
        try withDecision { store in
            #expect(try store.run("erase", "ada", "--yes").status == 0)
            let name = try #require(try store.log().first { $0["kind"] == "erased" }?["user"])
            guard case .text(let pseudonym) = name else { return }
            let file = try store.run("decision", pseudonym, "1", "--json")
            #expect(file.status == 0 && !file.text.contains("disclosed"), "\(file.errorText)")
            let run = try check(store, file.output)
            #expect(
                run.status == 0
                    && run.text.hasPrefix("true: \(pseudonym) was erased: after item 1, 1 answer stands in the log as"),
                "\(run.text)")
        }
    }
}
