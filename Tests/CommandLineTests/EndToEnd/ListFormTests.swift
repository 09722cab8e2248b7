import Foundation
import TestSupport
import Testing

@testable import traylog_cli

/// Ranges by time, lists for spreadsheets, and what shells complete.
struct ListFormTests {
    @Test(arguments: ["history", "log", "export"])
    func aRangeCanBeGivenByTimes(command: String) throws {
        try withStore { store in
            try store.append(#"{"kind":"notify","user":"ada","title":"One"}"#)
            let query = ["--store", store.directory, command] + (command == "history" ? ["ada"] : [])
            func count(_ range: String...) throws -> Int {
                try TraylogRun.of(query + range + (command == "export" ? [] : ["--json"])).lines.count
            }
            #expect(try count("--from", "2h") == 1)
            #expect(try count("--from", "yesterday", "--to", "2100-01-01 03:37") == 1)
            #expect(try count("--from", "2100-01-01") == 0)
            #expect(try count("--to", "yesterday") == 0)
            let reversed = try TraylogRun.of(query + ["--from", "today", "--to", "yesterday"])
            #expect(reversed.status == 64 && reversed.errorText.contains("UTC"))
        }
    }

    @Test func aListForASpreadsheetHasEveryColumnAndNoFormula() throws {
        try withStore { store in
            try store.append(
                #"{"kind":"notify","user":"ada","title":"=1+1","body":"a \"b\", c\nd","actor":"bob"}"#,
                #"{"kind":"mark","user":"ada","as":"read","items":[1]}"#)
            let log = try store.run("log", "--csv").text
            #expect(
                log.hasPrefix(
                    "seq,recordedAt,occurredAt,kind,user,key,actor,device,topic,thread,category,title,body,what\r\n"))
            #expect(
                log.contains(#","'=1+1","a ""b"", c"# + "\nd\",\r\n")
                    || log.contains(#",'=1+1,"a ""b"", c"# + "\nd\",\r\n"))
            #expect(log.contains(",read: 1\r\n") && log.contains("Z,,notified,ada,,bob,"))
            #expect(try store.run("history", "ada", "--csv").text == log)
            #expect(try store.run("users", "--csv").text.hasPrefix("user,asOf,isSeen,unseen,"))
            #expect(try store.run("inbox", "ada", "--csv").text.contains("\r\n1,1,,,,,'=1+1,"))
            #expect(try store.run("log", "--csv", "--json").status == 64)
        }
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func completionsKnowValues(shell: String) throws {
        let script = try TraylogRun.of(["--generate-completion-script", shell]).text
        for word in ["unarchived", "allMarked", "timeSensitive", "summaryArgument"] {
            #expect(script.contains(word), "\(word)")
        }
    }

    @Test func completionsKnowTheUsersOfTheStore() throws {
        try withStore { store in
            try store.append(#"{"kind":"notify","user":"ada"}"#, #"{"kind":"notify","user":"bob"}"#)
            let words = [
                "---completion", "tray", "--", "positional@0", "4", "1", "traylog", "--store", store.directory, "tray",
                "a",
            ]
            let run = try TraylogRun.of(words, environment: ["SAP_SHELL": "bash"])
            // bash takes the quotes away when it splits the words.
            #expect(run.lines == ["'ada'"])
        }
    }

    @Test(arguments: sized([80], nightly: [80, 140]) as [UInt16])
    func everyAnswerFitsTheWindowAndIsWholeInAPipe(columns: UInt16) throws {
        try withStore { store in
            let long = String(repeating: "long-", count: 30) + "end"
            try store.append(
                #"{"kind":"notify","user":"ada","thread":"\#(long)","category":"c","title":"\#(long)","device":"\#(long)"}"#,
                #"{"kind":"mark","user":"ada","as":"read","items":[1],"actor":"\#(long)"}"#)
            let queries = [
                ["tray", "ada"], ["inbox", "ada"], ["threads", "ada"], ["history", "ada"], ["log"], ["users"],
                ["audit", "ada"], ["diff", "ada", "--from", "0"], ["stats"], ["tree-head"], ["prove", "1"],
                ["prove-consistency", "1", "2"], ["verify"], ["replay"],
            ]
            for query in queries {
                let text = try PseudoTerminal.text(
                    of: query + ["--store", store.directory], columns: columns, environment: ["NO_COLOR": "1"])
                #expect(!text.isEmpty, "\(query)")
                for line in text.split(separator: "\n") {
                    #expect(DisplayWidth.of(String(line)) <= Int(columns), "\(query): \(line)")
                }
                #expect(try !TraylogRun.of(["--store", store.directory] + query).text.contains("…"), "\(query)")
            }
        }
    }
}
