import Foundation
import TestSupport
import Testing

/// Files that somebody else made get a message, in bounded memory, and never end the program by a signal.
struct StrangersFilesTests {
    private static let root = String(repeating: "1", count: 64)

    @Test func aFileOfJunkIsReportedWithABoundedNumberOfFindings() throws {
        try withDirectory { directory in
            let (file, head) = (directory + "/file", directory + "/head")
            try #"{"treeSize":1,"rootHash":"\#(Self.root)"}"#.write(toFile: head, atomically: true, encoding: .utf8)
            let junk = String(repeating: "junk\n", count: 50_000)
            try junk.write(toFile: file, atomically: true, encoding: .utf8)
            let run = try TraylogRun.of(["check", file, "--tree-head", head])
            #expect(run.status == 1 && run.lines.count == 1_002, "\(run.lines.count)")
            #expect(run.lines.suffix(2) == ["and 49000 more findings", "not proved: 50,000 findings"])
            let complete = try TraylogRun.of(["check", file, "--complete", "--tree-head", head])
            #expect(complete.status == 1 && complete.lines.count == 2, "\(complete.text)")
        }
    }

    @Test func aFileOfAnotherTreeIsOneFinding() throws {
        try withStore { store in
            try store.append(
                (1...30).map { #"{"kind":"notify","user":"ada","title":"\#($0)"}"# }.joined(separator: "\n"))
            let (file, head) = (store.directory + "-file", store.directory + "-head")
            let history = try store.run("audit", "ada", "--complete").text
            let proofs = try (1...5).map { try store.run("prove", "\($0)", "--json").text }.joined()
            let report = try store.run("audit", "ada", "--json").text
            try store.append(#"{"kind":"notify","user":"ada","title":"Later"}"#)
            try store.run("tree-head", "--json").text.write(toFile: head, atomically: true, encoding: .utf8)
            for (text, size) in [(history, 31), (proofs, 31), (report, 31)] {
                try text.write(toFile: file, atomically: true, encoding: .utf8)
                let run = try TraylogRun.of(["check", file, "--tree-head", head])
                #expect(run.status == 1 && run.lines.count == 2, "\(run.text)")
                #expect(
                    run.lines.first?.contains("is \(size), and the tree head is of 32 events") == true, "\(run.text)")
                #expect(run.lines.last == "not proved: 1 finding")
            }
        }
    }

    @Test func aFindingIsNoLongerThanAPersonReads() throws {
        try withDirectory { directory in
            let (file, head) = (directory + "/file", directory + "/head")
            try #"{"treeSize":1,"rootHash":"\#(Self.root)"}"#.write(toFile: head, atomically: true, encoding: .utf8)
            let name = String(repeating: "n", count: 1_000_000)
            try #"{"user":"\#(name)","complete":true,"treeHead":{"treeSize":1,"rootHash":"\#(Self.root)"}}"#
                .write(toFile: file, atomically: true, encoding: .utf8)
            let run = try TraylogRun.of(["check", file, "--complete", "--tree-head", head])
            #expect(run.status == 1 && run.output.count < 3_000, "\(run.output.count)")
        }
    }

    /// A store whose small files say any number.
    @Test(arguments: [
        "-9223372036854775808 1\n", "9223372036854775807 18446744073709551615\n", "0 0\n", "\n", "1 -1\n", "x",
        "99999999999999999999 1\n",
    ])
    func healthAnswersWhateverTheSmallFilesSay(text: String) throws {
        try withStore { store in
            try store.append(#"{"kind":"notify","user":"ada","title":"One"}"#)
            for name in ["last-backup", "last-verified", "failed-verify", "failed-replay"] {
                try text.write(toFile: store.directory + "/" + name, atomically: true, encoding: .utf8)
            }
            for words in [
                ["health"], ["health", "--json"], ["health", "--max-backup-age", "1d"], ["stats", "--prometheus"],
            ] {
                let run = try TraylogRun.of(["--store", store.directory] + words)
                #expect(run.status == 0 || run.status == 1, "\(words): \(run.status) \(run.errorText)")
                #expect(!run.text.isEmpty)
            }
        }
    }

    @Test func aRangeBelowTheFloorIsNotShownAsWhole() throws {
        try withStore { store in
            try store.append(
                #"{"kind":"notify","user":"ada","title":"One"}"#,
                #"{"kind":"mark","user":"ada","as":"deleted","items":[1]}"#,
                #"{"kind":"notify","user":"ada","title":"Three"}"#)
            let archive = store.directory + "-archive"
            #expect(try store.run("compact", "--before", "3", "--archive", archive).status == 0)
            for words in [["log"], ["history", "ada"], ["log", "--from", "2"], ["log", "--text", "Three"]] {
                let run = try TraylogRun.of(["--store", store.directory] + words)
                #expect(run.status == 0 && run.errorText.contains("before event 3"), "\(words): \(run.errorText)")
                #expect(run.errorText.contains("--archive"))
                let whole = try TraylogRun.of(["--store", store.directory] + words + ["--archive", archive])
                #expect(whole.status == 0 && whole.errorText.isEmpty, "\(words): \(whole.errorText)")
            }
            for words in [["log", "--from", "3"], ["log", "--newest-first", "--limit", "1"]] {
                let run = try TraylogRun.of(["--store", store.directory] + words)
                #expect(run.status == 0 && run.errorText.isEmpty, "\(words): \(run.errorText)")
            }
        }
    }

    @Test(arguments: [
        ("America/Havana", "2026-03-08", "2026-03-08T05:00:00.000Z"),
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00.000Z"),
        ("Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00.000Z"),
        ("Asia/Beirut", "2026-03-29", "2026-03-28T22:00:00.000Z"),
        ("America/Santiago", "2026-09-06", "2026-09-06T04:00:00.000Z"),
        ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00.000Z"),
    ])
    func aDateIsTheFirstMomentOfItsDay(zone: String, date: String, moment: String) throws {
        try withStore { store in
            try store.append(#"{"kind":"notify","user":"ada","title":"One"}"#)
            let run = try TraylogRun.of(
                ["--store", store.directory, "notify", "ada", "--title", "T", "--occurred-at", date],
                environment: ["TZ": zone])
            #expect(run.status == 0, "\(run.errorText)")
            let history = try store.run("history", "ada", "--json").text
            #expect(history.contains("\"occurredAt\":\"\(moment)\""), "\(history)")
        }
    }
}
