import Foundation
import TestSupport
import Testing

/// `--as-of` on every query, with a seq and with a time.
struct AsOfOptionTests {
    private static let queries = [
        ["tray", "ada"], ["inbox", "ada"], ["threads", "ada"], ["history", "ada"], ["log"], ["users"],
    ]

    /// Five events, each in a millisecond of its own: ada's, bob's, and an undo at the end.
    private func withPast(_ body: (TestStore) throws -> Void) throws {
        try withStore { store throws in
            for line in [
                #"{"kind":"notify","user":"ada","title":"One","thread":"t"}"#, #"{"kind":"notify","user":"bob"}"#,
                #"{"kind":"notify","user":"ada","title":"Two"}"#, #"{"kind":"markAll","user":"ada","as":"archived"}"#,
                #"{"kind":"undo","user":"ada","event":4}"#,
            ] {
                try store.append(line)
            }
            try body(store)
        }
    }

    private func ask(_ store: TestStore, _ query: [String], _ more: String...) throws -> TraylogRun {
        try TraylogRun.of(["--store", store.directory, "--json"] + query + more)
    }

    @Test(arguments: sized([["tray", "ada"], ["threads", "ada"], ["log"]], nightly: queries))
    func asOfAnswersLikeTheStoreAtThatMoment(query: [String]) throws {
        try withStore { store throws in
            var answers = [""]
            for line in [
                #"{"kind":"notify","user":"ada","title":"One","thread":"t"}"#, #"{"kind":"notify","user":"bob"}"#,
                #"{"kind":"notify","user":"ada","title":"Two"}"#, #"{"kind":"seeTray","user":"ada"}"#,
                #"{"kind":"undo","user":"ada","event":4}"#,
            ] {
                try store.append(line)
                answers.append(try ask(store, query).text)
            }
            let times = try store.log().map { try #require($0["recordedAt"]?.text) }
            for seq in 1...5 {
                #expect(try ask(store, query, "--as-of", "\(seq)").text == answers[seq], "as of \(seq)")
                let time = times[seq - 1]
                let last = try #require(times.lastIndex(of: time)) + 1
                #expect(try ask(store, query, "--as-of", time).text == answers[last], "as of \(time)")
            }
            #expect(try ask(store, query, "--as-of", "9999-12-31T23:59:59Z").text == answers[5])
        }
    }

    @Test func beforeTheFirstEventTheStoreIsEmpty() throws {
        try withPast { store throws in
            for moment in ["0", "1999-12-31T23:59:59-02:00"] {
                for query in [["history", "ada"], ["log"], ["users"]] {
                    let run = try ask(store, query, "--as-of", moment)
                    #expect(run.status == 0 && run.text.isEmpty)
                }
                #expect(
                    try ask(store, ["tray", "ada"], "--as-of", moment).text
                        == #"{"user":"ada","asOf":0,"revision":0,"isSeen":true,"unseen":0,"unread":0,"awaiting":0,"total":0,"seenUpTo":0,"#
                        + #""seenAt":null,"newest":null,"newestCounted":null,"categories":{}}"# + "\n")
                #expect(
                    try ask(store, ["inbox", "ada"], "--as-of", moment).text
                        == #"{"user":"ada","asOf":0,"items":[],"next":null}"# + "\n")
                #expect(
                    try ask(store, ["threads", "ada"], "--as-of", moment).text
                        == #"{"user":"ada","asOf":0,"threads":[],"next":null}"# + "\n")
            }
        }
    }

    @Test func asOfCombinesWithOtherOptions() throws {
        try withPast { store throws in
            func seqs(_ query: [String], _ more: String...) throws -> [JSONValue?] {
                try TraylogRun.of(["--store", store.directory, "--json"] + query + more).outputs("seq")
            }
            #expect(try seqs(["log"], "--as-of", "4", "--from", "2") == [2, 3, 4])
            #expect(try seqs(["log"], "--as-of", "4", "--to", "5", "--user", "ada") == [1, 3, 4])
            #expect(try seqs(["history", "ada"], "--as-of", "4", "--from", "2", "--to", "3") == [3])
            #expect(try seqs(["log"], "--as-of", "3", "--kind", "allMarked") == [])
        }
    }

    @Test(arguments: queries)
    func asOfBeyondTheHeadExitsWith65(query: [String]) throws {
        try withPast { store throws in
            for seq in ["6", "18446744073709551615"] {
                let run = try ask(store, query, "--as-of", seq)
                #expect(run.status == 65)
                #expect(run.text.isEmpty)
                #expect(try JSONValue.object(run.errorText)["error"] == "upToBeyondHead")
            }
        }
    }

    @Test(arguments: queries)
    func anInvalidMomentExitsWith64(query: [String]) throws {
        for moment in ["someday", "", "-1", "1.5", "18446744073709551616", "2030-13-01T00:00:00Z", "2030-1-1", "2x"] {
            let run = try TraylogRun.of(query + ["--store", "/nowhere", "--as-of=\(moment)"])
            #expect(run.status == 64, "\(moment)")
        }
    }

    @Test(arguments: [
        ["tray", "ada", "--as-of", "0"], ["log", "--as-of", "0"], ["tick"], ["tick", "--now", "2030-01-01T00:00:00Z"],
    ])
    func asOfWithoutAStoreExitsWith66(arguments: [String]) throws {
        try withStore { store throws in
            #expect(try TraylogRun.of(arguments + ["--store", store.directory]).status == 66)
            #expect(!store.exists)
        }
    }

    @Test func followingRefusesAsOf() throws {
        try withPast { store throws in
            #expect(try store.run("log", "--follow", "--as-of", "3").status == 64)
            #expect(try store.run("watch", "ada", "--as-of", "3").status == 64)
        }
    }
}
