import Foundation
import Testing

struct SearchOptionTests {
    private func withLog(_ body: (TestStore) throws -> Void) throws {
        try withStore { store throws in
            for line in [
                #"{"kind":"notify","user":"ada","key":"m1","title":"Invoice 17","thread":"t","category":"c","actor":"bob"}"#,
                #"{"kind":"notify","user":"eve","body":"An invoice, too","device":"phone"}"#,
                #"{"kind":"seeTray","user":"ada","device":"phone"}"#, #"{"kind":"mute","user":"ada","thread":"t"}"#,
                #"{"kind":"notify","user":"ada","title":"Other"}"#,
            ] {
                try store.append(line)
            }
            try body(store)
        }
    }

    @Test func eachOptionLimitsTheLog() throws {
        try withLog { store throws in
            for (arguments, seqs) in [
                (["--actor", "bob"], [1]), (["--actor", "ada"], [3, 4, 5]), (["--device", "phone"], [2, 3]),
                (["--key", "m1"], [1]), (["--thread", "t"], [1, 4]), (["--category", "c"], [1]),
                (["--text", "INVOICE"], [1, 2]), (["--text", "invoice", "--user", "eve"], [2]),
                (["--limit", "2"], [1, 2]),
                (["--newest-first", "--limit", "2"], [5, 4]),
                (["--newest-first", "--to", "4", "--from", "3"], [4, 3]),
                (["--newest-first", "--kind", "notified"], [5, 2, 1]), (["--since", "1h"], [1, 2, 3, 4, 5]),
                (["--until", "1h"], []), (["--newest-first", "--as-of", "2"], [2, 1]), (["--device", "tablet"], []),
            ] {
                let lines = try TraylogRun.of(["--store", store.directory, "log", "--json"] + arguments).lines
                let found = try lines.map { try JSONValue.object($0)["seq"] }
                #expect(found == seqs.map { .number(Double($0)) }, "\(arguments)")
            }
        }
    }

    @Test func eachOptionLimitsAnInbox() throws {
        try withLog { store throws in
            try store.append(
                #"{"kind":"notify","user":"ada","title":"Straße","category":"d","level":"critical"}"#)
            for (arguments, seqs) in [
                (["--actor", "bob"], [1]), (["--actor", "ada"], [6, 5]), (["--actor", "eve"], []),
                (["--text", "STRASSE"], [6]), (["--text", "in 17"], [1]), (["--level", "timeSensitive"], [6]),
                (["--level", "active"], [6, 5, 1]), (["--since", "1h"], [6, 5, 1]), (["--until", "1h"], []),
                (["--category", "c", "--category", "d"], [6, 1]), (["--text", "o", "--actor", "ada"], [5]),
                (["--archived", "--text", "o"], []),
            ] {
                let run = try TraylogRun.of(["--store", store.directory, "inbox", "ada", "--json"] + arguments)
                var found: [Double?] = []
                if case .array(let items)? = try JSONValue.object(run.text)["items"] {
                    found = items.map { if case .object(let item) = $0 { item["seq"]?.number } else { nil } }
                }
                #expect(found == seqs.map { Double($0) }, "\(arguments): \(run.errorText)")
            }
            for arguments in [["--since", "2"], ["--level", "loud"]] {
                let run = try TraylogRun.of(["--store", store.directory, "inbox", "ada"] + arguments)
                #expect(run.status == 64, "\(arguments)")
            }
            #expect(try store.run("inbox", "ada", "--actor", "").status == 65)
        }
    }

    @Test func aHistoryIsLimitedInTheSameWay() throws {
        try withLog { store throws in
            let lines = try store.run("history", "ada", "--json", "--newest-first", "--limit", "3").lines
            #expect(try lines.map { try JSONValue.object($0)["seq"] } == [5, 4, 3])
            #expect(try store.run("history", "ada", "--device", "phone").text.contains("traySeen"))
        }
    }

    @Test func aLimitSaysWhereThereIsMoreAndHowToGoOn() throws {
        try withLog { store throws in
            for (arguments, more) in [
                (["log", "--limit", "2"], "more: --since 3"),
                (["log", "--limit", "2", "--newest-first"], "more: --until 3"),
                (["log", "--limit", "5"], nil), (["log", "--limit", "2", "--to", "2"], nil),
                (["log", "--text", "invoice", "--limit", "1"], "more: --since 2"),
                (["history", "ada", "--limit", "2"], "more: --since 4"), (["history", "ada", "--limit", "4"], nil),
                (["users", "--limit", "1"], "more: --cursor ada"), (["users", "--limit", "1", "--cursor", "ada"], nil),
                (["users", "--limit", "2"], nil), (["users", "--limit", "1", "--prefix", "e"], nil),
                (["users", "--limit", "1", "--sort", "unread"], "more: 1 user, with no more unread items"),
            ] as [([String], String?)] {
                let lines = try TraylogRun.of(["--store", store.directory] + arguments).lines
                #expect(lines.last { $0.hasPrefix("more: ") } == more, "\(arguments)")
                #expect(
                    try !TraylogRun.of(["--store", store.directory] + arguments + ["--json"]).text.contains("more: "))
            }
        }
    }

    @Test func anExportIsLimitedInTheSameWay() throws {
        try withLog { store throws in
            let lines = try store.run("export", "--device", "phone").lines
            #expect(try lines.map { try JSONValue.object($0)["seq"] } == [2, 3])
            let newest = try store.run("export", "--newest-first", "--limit", "2").lines
            let whole = try store.run("export").lines
            #expect(newest == whole.suffix(2).reversed())
            #expect(try store.run("export", "--limit", "3").lines == Array(whole.prefix(3)))
            #expect(try store.run("export", "--newest-first", "--skip-damaged").status == 64)
            #expect(try store.run("export", "--since", "2").status == 64)
        }
    }

    @Test func followingExcludesSearching() throws {
        try withLog { store throws in
            #expect(try store.run("log", "--follow", "--text", "x").status == 64)
            #expect(try store.run("log", "--limit", "0").status == 64)
        }
    }
}
