import Testing

/// The exact JSON that other programs rely on; only the time of recording is not known beforehand.
struct JSONFormTests {
    private func withTray(_ body: (TestStore) throws -> Void) throws {
        try withStore { store in
            try store.append(
                #"{"kind":"notify","user":"ada","key":"m1","thread":"t","category":"mail","title":"One","#
                    + #""body":"B","summaryArgument":"Bob","actor":"bob","device":"d","#
                    + #""occurredAt":"2004-04-15T16:56:01.5+02:00","data":{"a": [1,2]}}"#,
                #"{"kind":"notify","user":"ada","thread":"t","category":"mail","title":"Two"}"#,
                #"{"kind":"mark","user":"ada","as":"seen","items":["m1"]}"#,
                #"{"kind":"notify","user":"bob","silent":true,"level":"critical","summaryCount":3}"#)
            try body(store)
        }
    }

    private func lines(_ run: TraylogRun) -> [String] {
        let time = /"recordedAt":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/
        return run.lines.map { $0.replacing(time, with: #""recordedAt":NOW"#) }
    }

    private static let first =
        #"{"seq":1,"position":1,"key":"m1","thread":"t","category":"mail","title":"One","body":"B","#
        + #""summaryArgument":"Bob","summaryCount":1,"level":"active","silent":false,"muted":false,"seen":true,"#
        + #""read":false,"archived":false,"actor":"bob","occurredAt":"2004-04-15T14:56:01.500Z","recordedAt":NOW,"#
        + #""data":{"a": [1,2]}}"#
    private static let second =
        #"{"seq":2,"position":2,"thread":"t","category":"mail","title":"Two","summaryCount":1,"level":"active","#
        + #""silent":false,"muted":false,"seen":false,"read":false,"archived":false,"recordedAt":NOW}"#

    @Test func trayJSONHasTheSpecifiedMembers() throws {
        try withTray { store throws in
            #expect(
                try store.run("tray", "ada", "--json").text
                    == #"{"user":"ada","asOf":4,"revision":3,"isSeen":false,"unseen":1,"unread":2,"awaiting":0,"total":2,"seenUpTo":0,"seenAt":null,"newest":2,"#
                    + #""newestCounted":2,"categories":{"mail":{"unseen":1,"unread":2}}}"# + "\n")
            #expect(
                try store.run("tray", "nobody", "--json").text
                    == #"{"user":"nobody","asOf":4,"revision":0,"isSeen":true,"unseen":0,"unread":0,"awaiting":0,"total":0,"seenUpTo":0,"#
                    + #""seenAt":null,"newest":null,"newestCounted":null,"categories":{}}"# + "\n")
        }
    }

    @Test func inboxJSONHasTheSpecifiedMembers() throws {
        try withTray { store throws in
            let whole = try store.run("inbox", "ada", "--json")
            #expect(lines(whole) == [#"{"user":"ada","asOf":4,"items":[\#(Self.second),\#(Self.first)],"next":null}"#])
            let page = try store.run("inbox", "ada", "--json", "--limit", "1")
            let cursor = try #require(try JSONValue.object(page.text)["next"]?.text)
            let rest = try store.run("inbox", "ada", "--json", "--limit", "1", "--cursor", cursor)
            #expect(lines(rest) == [#"{"user":"ada","asOf":4,"items":[\#(Self.first)],"next":null}"#])
        }
    }

    @Test func inboxFlagsFilter() throws {
        try withTray { store throws in
            func seqs(_ arguments: String...) throws -> [JSONValue?] {
                let run = try TraylogRun.of(["--store", store.directory, "--json", "inbox"] + arguments)
                guard case .array(let items) = try JSONValue.object(run.text)["items"] else { return [] }
                return items.map { if case .object(let item) = $0 { item["seq"] } else { nil } }
            }
            #expect(try seqs("ada", "--unseen") == [2])
            #expect(try seqs("ada", "--unread") == [2, 1])
            #expect(try seqs("ada", "--thread", "t", "--category", "mail") == [2, 1])
            #expect(try seqs("ada", "--unthreaded") == [])
            #expect(try seqs("ada", "--category", "other") == [])
            #expect(try seqs("ada", "--archived") == [])
            #expect(try seqs("ada", "--snoozed") == [])
            #expect(try seqs("bob") == [])
            #expect(try seqs("bob", "--include-silent") == [4])
        }
    }

    @Test(arguments: ["0", "101", "-1"])
    func aPageHasOneToAHundredItems(limit: String) throws {
        try withTray { store throws in
            let run = try store.run("inbox", "ada", "--limit=\(limit)", "--json")
            #expect(run.status == 65)
            #expect(try JSONValue.object(run.errorText)["error"] == "invalid")
        }
    }

    @Test func threadsJSONHasTheSpecifiedMembers() throws {
        try withTray { store throws in
            #expect(
                lines(try store.run("threads", "ada", "--json")) == [
                    #"{"user":"ada","asOf":4,"threads":[{"thread":"t","count":2,"unseen":1,"unread":2,"#
                        + #""newest":\#(Self.second),"summary":"1 more notification from Bob","more":1,"names":["Bob"]}],"next":null}"#
                ])
        }
    }

    @Test func historyAndLogJSONHaveTheSpecifiedMembers() throws {
        try withTray { store throws in
            let expected = [
                #"{"seq":1,"revision":1,"recordedAt":NOW,"occurredAt":"2004-04-15T14:56:01.500Z","kind":"notified","user":"ada","#
                    + #""key":"m1","actor":"bob","device":"d","thread":"t","category":"mail","title":"One","body":"B","#
                    + #""summaryArgument":"Bob","data":{"a": [1,2]}}"#,
                #"{"seq":2,"revision":2,"recordedAt":NOW,"kind":"notified","user":"ada","thread":"t","category":"mail","#
                    + #""title":"Two"}"#,
                #"{"seq":3,"revision":3,"recordedAt":NOW,"kind":"marked","user":"ada","as":"seen","items":[1]}"#,
                #"{"seq":4,"revision":1,"recordedAt":NOW,"kind":"notified","user":"bob","summaryCount":3,"silent":true,"#
                    + #""level":"critical"}"#,
            ]
            #expect(lines(try store.run("log", "--json")) == expected)
            #expect(lines(try store.run("history", "ada", "--json")) == Array(expected[..<3]))
            #expect(lines(try store.run("log", "--json", "--from", "2", "--to", "3")) == Array(expected[1...2]))
            #expect(lines(try store.run("log", "--json", "--user", "bob")) == [expected[3]])
            #expect(lines(try store.run("log", "--json", "--kind", "marked")) == [expected[2]])
            #expect(try store.run("log", "--json", "--from", "5").text.isEmpty)
            let rest = try store.run("history", "ada", "--json", "--from", "2", "--to", "9")
            #expect(lines(rest) == Array(expected[1...2]))
        }
    }

    @Test func usersComeInByteOrder() throws {
        try withStore { store in
            let names = ["b", "B", "é", "a", "日", "aa", "🚀"]
            for name in names { try store.append(#"{"kind":"notify","user":"\#(name)"}"#) }
            let users = try store.run("users", "--json").lines.map { try JSONValue.object($0)["user"]?.text }
            #expect(users == ["B", "a", "aa", "b", "é", "日", "🚀"])
        }
    }

    @Test func manyUsersAreListedOnce() throws {
        try withStore { store in
            let commands = (1...700).map { #"{"kind":"notify","user":"u\#($0)"}"# }
            try store.append(commands.joined(separator: "\n"))
            #expect(try store.run("users", "--json").lines.count == 700)
            #expect(try store.run("users").lines.count == 701)
        }
    }

    @Test func verbsAnswerInTheSpecifiedJSON() throws {
        try withStore { store in
            let notify = try store.run("notify", "ada", "--key", "k", "--json")
            #expect(notify.text == #"{"result":"appended","seq":1}"# + "\n")
            let again = try store.run("notify", "ada", "--key", "k", "--json")
            #expect(again.text == #"{"result":"duplicate","seq":1}"# + "\n")
            let unmute = try store.run("unmute", "ada", "--thread", "t", "--json")
            #expect(unmute.text == #"{"result":"unchanged"}"# + "\n")
            #expect(try store.run("see", "ada").text == "appended as event 2\n")
            let mark = try store.run("mark", "ada", "read", "k", "--actor", "carl", "--device", "phone")
            #expect(mark.text == "appended as event 3\n")
            let event = try #require(try store.log().last)
            #expect(event["kind"] == "marked")
            #expect(event["actor"] == "carl")
            #expect(event["device"] == "phone")
        }
    }

    @Test func statisticsJSONHasTheSpecifiedMembers() throws {
        try withTray { store throws in
            let statistics = try JSONValue.object(store.run("stats", "--json").text)
            #expect(statistics["head"] == 4)
            #expect(statistics["floor"] == 0)
            #expect(statistics["events"] == 4)
            #expect(statistics["users"] == 2)
            for name in ["bytes", "freeBytes", "readers", "unflushed"] { #expect(statistics[name] != nil) }
            #expect(statistics["projections"] == .array([]))
        }
    }

    @Test func checksOfASoundStoreFindNothing() throws {
        try withTray { store throws in
            let replay = try store.run("replay", "--json")
            #expect(replay.status == 0)
            let report = try JSONValue.object(replay.text)
            #expect(report["events"] == 4)
            #expect(report["users"] == 2)
            #expect(report["identical"] == .bool(true))
            #expect(report["seconds"] != nil && report["eventsPerSecond"] != nil && report["difference"] == nil)
            #expect(try store.run("replay", "--rebuild").status == 0)
            let verify = try store.run("verify", "--json")
            #expect(verify.status == 0)
            #expect(verify.text == #"{"ok":true,"events":4,"users":2,"findings":[]}"# + "\n")
        }
    }
}
