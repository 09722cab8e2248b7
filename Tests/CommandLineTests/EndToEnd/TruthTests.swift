import Foundation
import TestSupport
import Testing
@_spi(Operations) import Traylog

/// The program reports the truth about failed checks, the files it writes, and who did what.
struct TruthTests {
    private func fill(_ store: TestStore) throws {
        try store.append(
            #"{"kind":"notify","user":"ada","key":"k1","title":"One"}"#,
            #"{"kind":"notify","user":"ada","title":"Two","actor":"bob"}"#,
            #"{"kind":"seeTray","user":"ada"}"#)
    }

    @Test func aFailedVerificationStaysInHealthUntilACleanOne() throws {
        try withStore { store in
            try fill(store)
            try UpkeepRecord.note(
                .verification, findings: ["event 2 is damaged;\nrestore a backup", "event 3"], head: 3,
                in: store.directory)
            let sick = try store.run("health")
            #expect(sick.status == 1 && sick.lines.count == 1)
            #expect(
                sick.text.hasPrefix(
                    "needs attention: verify found 2 problems 0 s ago, the first: event 2 is damaged; restore"))
            let json = try store.run("health", "--json")
            #expect(json.status == 1 && json.text.contains(#""failedChecks":[{"check":"verify","at":"20"#))
            #expect(json.text.contains(#""findings":["event 2 is damaged; restore a backup","event 3"]"#))
            // Neither a clean replay nor a backup shows that the log is sound.
            #expect(try store.run("replay").status == 0)
            #expect(try store.run("health").status == 1)
            #expect(try store.run("verify").status == 0)
            #expect(try store.run("health").status == 0)
        }
    }

    @Test func aDamagedStoreStaysInHealthAfterVerify() throws {
        try withStore { store in
            try fill(store)
            let path = URL(filePath: StoreFiles.data(of: store.directory))
            var bytes = try Data(contentsOf: path)
            let found = try #require(bytes.firstRange(of: Data("Two".utf8)))
            bytes[found.lowerBound] ^= 1
            try bytes.write(to: path)
            let run = try store.run("verify")
            #expect(run.status == 1)
            let health = try store.run("health")
            #expect(health.status == 1 && health.text.contains("verify found"))
            #expect(health.text.contains(try #require(run.lines.first)))
        }
    }

    @Test func aFailedReplayStaysInHealthUntilACheckIsClean() throws {
        try withStore { store in
            try fill(store)
            for clean in ["replay", "verify"] {
                try UpkeepRecord.note(
                    .replay, findings: ["ada: unread is 3, and 2 after a replay"], head: 3, in: store.directory)
                #expect(try store.run("health").text.contains("replay found 1 problem"))
                // A check of the past says nothing about the present states.
                #expect(try store.run("replay", "--as-of", "2").status == 0)
                #expect(try store.run("health").status == 1)
                #expect(try store.run(clean).status == 0)
                #expect(try store.run("health").status == 0)
            }
        }
    }

    @Test func anErasureRemovesTheTextsOfFindingsAndKeepsTheFailure() throws {
        try withStore { store in
            try fill(store)
            try UpkeepRecord.note(.verification, findings: ["ada: unread is 3"], head: 3, in: store.directory)
            #expect(try store.run("erase", "ada", "--yes").status == 0)
            let failure = try #require(UpkeepRecord.read(store.directory).failures.first)
            #expect(failure.count == 1 && failure.findings.isEmpty)
            #expect(try store.run("health").text.contains("verify found 1 problem"))
        }
    }

    @Test func anUnreadableRecordOfAFailureCountsAsAFailure() throws {
        try withStore { store in
            try fill(store)
            for text in ["", "nonsense\n", "12\n", "1 0\n", "\u{0}"] {
                try Data(text.utf8).write(to: URL(filePath: store.directory + "/failed-verify"))
                #expect(try store.run("health").status == 1, "\(text)")
            }
        }
    }

    @Test func theRecipientOfANotificationIsNotShownAsItsSender() throws {
        try withStore { store in
            try fill(store)
            let log = try store.run("log").lines
            // SEQ, date, time, KIND, USER, ACTOR where there is one, and WHAT.
            #expect(log[1].split(separator: " ").dropFirst(3) == ["notified", "ada", "One"])
            #expect(log[2].split(separator: " ").dropFirst(3) == ["notified", "ada", "bob", "Two"])
            #expect(log[3].split(separator: " ").dropFirst(3).prefix(3) == ["traySeen", "ada", "ada"])
            let page = try store.run("audit", "ada", "--html", "-").text
            #expect(page.contains("<dt>Actors</dt><dd><bdi>ada</bdi> 1, <bdi>bob</bdi> 1</dd>"))
        }
    }

    @Test func aReportReplacesNoOtherFileAndPrintsWhatItWrote() throws {
        try withStore { store in
            let lines = (1...1_300).map { #"{"kind":"notify","user":"ada","title":"Item \#($0)"}"# }
            _ = try store.run("append", "-", input: lines.joined(separator: "\n"))
            try withDirectory { folder in
                let (path, other) = (folder + "/p.html", URL(filePath: folder + "/p-2.html"))
                try Data("precious".utf8).write(to: other)
                let refused = try store.run("audit", "ada", "--html", path)
                #expect(refused.status == 74 && refused.errorText.contains("p-2.html exists"), "\(refused.errorText)")
                #expect(try String(contentsOf: other, encoding: .utf8) == "precious")
                #expect(!FileManager.default.fileExists(atPath: path))
                try FileManager.default.removeItem(at: other)
                for _ in 1...2 {
                    let run = try store.run("audit", "ada", "--html", path)
                    #expect(run.status == 0 && run.lines.first?.hasPrefix("wrote 3 pages, ") == true, "\(run.text)")
                    #expect(run.lines.first?.contains("p.html, \(folder)/p-2.html … \(folder)/p-3.html") == true)
                }
                // A shorter report names the old page that is not its own.
                let short = try store.run("audit", "ada", "--html", path, "--to", "10")
                #expect(short.lines.first?.hasPrefix("wrote 1 page, ") == true)
                #expect(short.lines.last?.contains("p-2.html is a page of an earlier report") == true)
            }
        }
    }

    @Test func aReportAboutNobodySaysSo() throws {
        try withStore { store in
            try fill(store)
            let page = try store.run("audit", "nobody", "--html", "-").text
            #expect(page.contains("There is no user <bdi>nobody</bdi> in this store"))
            #expect(!page.contains("<dt>Actors</dt>") && !page.contains("<table"))
        }
    }

    @Test func aDossierShowsWholeTextsAndData() throws {
        try withStore { store in
            let long = String(repeating: "word ", count: 400) + "end"
            try store.append(
                #"{"kind":"notify","user":"ada","title":"T","body":"\#(long)","data":{"nested":{"deep":"\#(long)"}},"level":"critical","actor":"bob","occurredAt":"2026-01-02T03:04:05Z"}"#
            )
            try withDirectory { folder in
                let run = try store.run("dossier", "ada", folder + "/ada")
                #expect(run.status == 0 && run.text.contains("wrote \(folder)/ada/dossier.html, "))
                let page = try String(contentsOf: URL(filePath: folder + "/ada/dossier.html"), encoding: .utf8)
                // Once among the items, and once among the events.
                #expect(page.ranges(of: "\(long)</bdi></div>").count == 2)
                #expect(page.ranges(of: "nested").count == 2 && page.ranges(of: "level <bdi>critical</bdi>").count == 2)
                #expect(page.contains("2026-01-02 03:04:05") && page.contains("<bdi>bob</bdi>"))
                #expect(!page.contains("…"))
            }
        }
    }

    @Test func aDossierReplacesNoOtherPersonsAndNoOtherFile() throws {
        try withStore { store in
            try fill(store)
            try store.append(#"{"kind":"notify","user":"ad","title":"Hello"}"#)
            try withDirectory { folder in
                #expect(try store.run("dossier", "ada", folder).status == 0)
                #expect(try store.run("dossier", "ada", folder).status == 0)
                let refused = try store.run("dossier", "ad", folder)
                #expect(refused.status == 74 && refused.errorText.contains("is no dossier of ad"))
                try FileManager.default.removeItem(atPath: folder + "/dossier.jsonl")
                #expect(try store.run("dossier", "ada", folder).status == 74)
            }
        }
    }

    @Test func showNamesTheNewestEventIfTheNumberIsUnknown() throws {
        try withStore { store in
            try fill(store)
            let run = try store.run("show", "99")
            #expect(run.status == 65 && run.errorText.contains("there is no event 99: the newest one is 3"))
        }
    }

    @Test func diffSaysThatNothingChanged() throws {
        try withStore { store in
            try fill(store)
            let run = try store.run("diff", "ada", "--from", "3")
            #expect(run.lines == ["nothing changed between event 3 and event 3: ada has 0 unseen, 2 unread, 2 in all"])
        }
    }
}
