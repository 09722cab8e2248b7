import Foundation
import TestSupport
import Testing

/// Faults that operators found with damaged and foreign stores, and with stores that another process writes.
struct DamageFaultTests {
    /// Ten items of two users, the sixth of which is damaged: a bit of its title is another one.
    private func withDamage(_ body: (TestStore) throws -> Void) throws {
        try withStore { store in
            for number in 1...10 {
                try store.append(
                    #"{"kind":"notify","user":"\#(number % 2 == 0 ? "ada" : "bob")","title":"Title number \#(number)."}"#
                )
            }
            let path = URL(filePath: StoreFiles.data(of: store.directory))
            var bytes = try Data(contentsOf: path)
            let wanted = Data("Title number 6.".utf8)
            while let found = bytes.firstRange(of: wanted) { bytes[found.lowerBound] ^= 1 }
            try bytes.write(to: path)
            try body(store)
        }
    }

    @Test(arguments: [["log"], ["history", "ada"], ["export"]])
    func soundEventsBeforeADamagedOneAreShown(query: [String]) throws {
        try withDamage { store in
            let json = query == ["export"] ? [] : ["--json"]
            let run = try TraylogRun.of(["--store", store.directory] + query + json)
            let own = query[0] == "history" ? [2, 4] : [1, 2, 3, 4, 5]
            #expect(run.status == 74 && run.errorText.contains("event 6 is damaged"))
            #expect(try run.outputs("seq") == own.map { .number(Double($0)) })
            // And the later ones on request.
            let rest = try TraylogRun.of(["--store", store.directory] + query + json + ["--from", "7"])
            #expect(rest.status == 0 && rest.lines.count == (query[0] == "history" ? 2 : 4))
        }
    }

    @Test(arguments: [
        (["history", "ada", "--newest-first", "--limit", "3"], [10, 8], false),
        (["history", "ada", "--newest-first", "--limit", "2"], [10, 8], true),
        (["history", "ada", "--kind", "notified"], [2, 4], false), (["history", "ada", "--since", "6"], [], false),
        (["log", "--from", "4", "--limit", "5"], [4, 5], false),
        (["log", "--from", "2", "--limit", "3"], [2, 3, 4], true),
        (["log", "--newest-first", "--limit", "9"], [10, 9, 8, 7], false),
        (["log", "--text", "title"], [1, 2, 3, 4, 5], false),
        (["log", "--from", "6", "--limit", "3"], [], false),
    ])
    func aSearchShowsWhatIsSoundBeforeDamageAndNeverSaysThatThereAreNoEvents(
        query: [String], seqs: [Int], isWhole: Bool
    ) throws {
        try withDamage { store in
            let run = try TraylogRun.of(["--store", store.directory] + query)
            #expect(run.status == (isWhole ? 0 : 74) && !run.text.contains("no events"), "\(run.text)")
            #expect(run.errorText.contains("event 6 is damaged") != isWhole)
            #expect(run.errorText.contains("--skip-damaged") != isWhole)
            let json = try TraylogRun.of(["--store", store.directory] + query + ["--json"])
            #expect(try json.outputs("seq") == seqs.map { .number(Double($0)) })
        }
    }

    @Test func findingsAboutTheLogComeFirstAndNoRebuildIsAdvisedWhileItIsInDoubt() throws {
        try withDamage { store in
            let run = try store.run("verify")
            #expect(run.status == 1)
            #expect(run.lines.first?.contains("event 6") == true)
            #expect(!run.text.contains("--rebuild") && !run.text.contains("run `traylog verify`"))
            #expect(Set(run.lines).count == run.lines.count)
            let count = run.lines.count - 1
            #expect(run.lines.last?.hasPrefix(count == 1 ? "1 finding: " : "\(count) findings: ") == true)
        }
    }

    @Test func findingsLeadToCommandsForThisStore() throws {
        try withDamage { store in
            let verify = try store.run("verify")
            #expect(verify.errorText.contains("next: traylog export --skip-damaged --store \(store.directory) > "))
            let health = try store.run("health")
            #expect(health.status == 1 && health.lines.count == 1)
            #expect(health.errorText.contains("next: traylog restore \(store.directory).salvaged.jsonl --store "))
            let read = try store.run("log")
            #expect(read.errorText.contains("run `traylog verify --store \(store.directory)`"), "\(read.errorText)")
        }
    }

    @Test(arguments: [("8", 0, [8]), ("4", 74, []), ("6", 74, [])])
    func aDamagedEventHidesNoLifeOfALaterItem(item: String, status: Int32, events: [Int]) throws {
        try withDamage { store in
            let run = try store.run("show", "ada", item, "--json")
            #expect(run.status == status, "\(run.errorText)")
            guard status == 0 else { return #expect(run.errorText.contains("event 6 is damaged")) }
            guard case .array(let life) = try JSONValue.object(run.text)["life"] else {
                return #expect(Bool(false), "no life: \(run.text)")
            }
            let found = life.map { event -> JSONValue? in
                guard case .object(let members) = event else { return nil }
                return members["seq"]
            }
            #expect(found == events.map { .number(Double($0)) }, "\(run.text)")
        }
    }

    @Test func theWriterIsNamedWithATimeThatPeopleRead() throws {
        try withStore { store in
            let holder = try Conversation(["append", "-", "--ack", "--store", store.directory])
            try holder.say(#"{"kind":"notify","user":"ada"}"# + "\n")
            _ = try holder.hear()
            let run = try store.run("notify", "bob")
            #expect(run.status == 69 && run.errorText.contains("process \(holder.processID)"))
            #expect(!run.errorText.contains("Unix time") && run.errorText.contains("since 20"))
            try holder.endInput()
            #expect(holder.waitForEnd() == 0)
        }
    }

    @Test func verifyAndStatsCountTheEventsOfACompactedStoreAlike() throws {
        try withStore { store in
            for number in 1...10 { try store.append(#"{"kind":"notify","user":"ada","key":"k\#(number)"}"#) }
            try store.append(#"{"kind":"markAll","user":"ada","as":"deleted"}"#)
            #expect(try store.run("compact", "--before", "11", "--yes").status == 0)
            let stats = try JSONValue.object(try store.run("stats", "--json").text)
            let dropped = try #require(stats["dropped"]?.number)
            let verify = try store.run("verify").text
            #expect(verify.contains("\(Int((stats["events"]?.number ?? 0) + dropped)) events"))
            #expect(dropped == 0 || verify.contains("\(Int(dropped)) of which left the log"))
            #expect(try store.run("stats").text.contains("readers       1, with this program"))
        }
    }

    @Test func aQueryLeavesNoFileInADirectoryWithoutAStore() throws {
        try withDirectory { directory in
            let manager = FileManager.default
            try manager.createDirectory(atPath: directory + "/data-1", withIntermediateDirectories: true)
            try Data("data-1\n".utf8).write(to: URL(filePath: directory + "/CURRENT"))
            try Data(repeating: 7, count: 20_000).write(to: URL(filePath: directory + "/data-1/data.mdb"))
            #expect(try TraylogRun.of(["--store", directory, "tray", "ada"]).status == 74)
            #expect(try manager.contentsOfDirectory(atPath: directory).sorted() == ["CURRENT", "data-1"])
            #expect(try manager.contentsOfDirectory(atPath: directory + "/data-1") == ["data.mdb"])
        }
    }

    @Test func refusalsAboutBroadcastsAndEventZeroNameNoUser() throws {
        try withStore { store in
            try store.append(#"{"kind":"notify","user":"ada"}"#)
            for command in [["edit", "--broadcast", "1", "--title", "x"], ["retract", "--broadcast", "1"]] {
                let run = try TraylogRun.of(["--store", store.directory] + command)
                #expect(run.status == 65 && run.errorText.contains("event 1 is no broadcast"))
            }
            let zero = try store.run("prove", "0")
            #expect(zero.status == 65 && zero.errorText.contains("the log begins with event 1"))
            let missing = try TraylogRun.of(["--store", store.directory + "-no", "tray", "ada"])
            #expect(missing.status == 66 && missing.errorText.contains("Check --store"))
        }
    }

    @Test func aSignedTreeHeadStandsOnThePage() throws {
        try withStore { store in
            try store.append(#"{"kind":"notify","user":"ada"}"#)
            let key = store.directory + ".key"
            #expect(try TraylogRun.of(["keygen", key, "--name", "log.example"]).status == 0)
            let page = try store.run("audit", "ada", "--html", "-", "--sign", key).text
            let head = try store.run("tree-head", "--sign", key).text
            #expect(page.contains("<pre>" + head.split(separator: "\n")[0]) && page.contains("— log.example "))
            #expect(try store.run("audit", "ada", "--sign", key).status == 64)
        }
    }
}
