import Testing

/// Topics, snoozes, ticks and undo on the command line, with the exact JSON of what they leave in the log.
struct TopicAndTimeCommandTests {
    private static let time = "2030-01-01T00:00:00Z"

    /// The answer of a command that appended an event.
    private func appended(_ store: TestStore, _ arguments: [String]) throws -> JSONValue? {
        let run = try TraylogRun.of(["--store", store.directory, "--json"] + arguments)
        #expect(run.status == 0, "\(arguments): \(run.errorText)")
        let answer = try JSONValue.object(run.text)
        #expect(answer["result"] == "appended" && answer.count == 2, "\(arguments)")
        return answer["seq"]
    }

    private func lines(_ run: TraylogRun) -> [String] {
        let time = /"recordedAt":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/
        return run.lines.map { $0.replacing(time, with: #""recordedAt":NOW"#) }
    }

    private static let verbs: [[String]] = [
        ["subscribe", "ada", "news", "--device", "phone"],
        [
            "broadcast", "news", "--title", "One", "--key", "k", "--thread", "t", "--expires-at",
            "2030-01-01T01:00:00+01:00",
        ],
        ["broadcast", "news", "--title", "Two", "--level", "critical", "--actor", "eve", "--silent"],
        ["edit", "--broadcast", "2", "--title", "New", "--clear", "expiresAt", "--key", "k2"],
        ["retract", "--broadcast", "3"],
        ["notify", "ada", "--key", "m", "--expires-at", time],
        ["snooze", "ada", "m", "--until", "2029-12-31T23:00:00-01:00"],
        ["wake", "ada", "m", "--occurred-at", "2004-04-15T14:56:01.5Z"],
        ["edit", "ada", "m", "--summary-count", "3", "--data", "[1, 2]"],
        ["snooze", "ada", "2", "--until", time],
        ["mark-all", "ada", "read", "--unthreaded"],
        ["undo", "ada", "11"],
        ["retract", "ada", "m"],
        ["unsubscribe", "ada", "news"],
        ["notify", "ada", "--key", "q", "--remind-at", time, "--action", "yes=Do it", "--action", "no=a=b"],
        ["mute", "ada", "--all", "--until", time],
        ["act", "ada", "q", "yes", "--note", "Now"],
        ["unmute", "ada", "--all"],
    ]

    private static let events = [
        #"{"seq":1,"revision":1,"recordedAt":NOW,"kind":"subscribed","user":"ada","device":"phone","topic":"news","#
            + #""topicRevision":0}"#,
        #"{"seq":2,"revision":1,"recordedAt":NOW,"kind":"broadcast","key":"k","topic":"news","thread":"t","title":"One","#
            + #""expiresAt":"2030-01-01T00:00:00.000Z"}"#,
        #"{"seq":3,"revision":2,"recordedAt":NOW,"kind":"broadcast","actor":"eve","topic":"news","title":"Two","silent":true,"#
            + #""level":"critical"}"#,
        #"{"seq":4,"revision":3,"recordedAt":NOW,"kind":"edited","key":"k2","item":2,"title":"New","expiresAt":null}"#,
        #"{"seq":5,"revision":4,"recordedAt":NOW,"kind":"retracted","item":3}"#,
        #"{"seq":6,"revision":2,"recordedAt":NOW,"kind":"notified","user":"ada","key":"m","expiresAt":"2030-01-01T00:00:00.000Z"}"#,
        #"{"seq":7,"revision":3,"recordedAt":NOW,"kind":"snoozed","user":"ada","item":6,"until":"2030-01-01T00:00:00.000Z"}"#,
        #"{"seq":8,"revision":4,"recordedAt":NOW,"occurredAt":"2004-04-15T14:56:01.500Z","kind":"woken","user":"ada","item":6}"#,
        #"{"seq":9,"revision":5,"recordedAt":NOW,"kind":"edited","user":"ada","item":6,"summaryCount":3,"data":[1, 2]}"#,
        #"{"seq":10,"revision":6,"recordedAt":NOW,"kind":"snoozed","user":"ada","item":2,"until":"2030-01-01T00:00:00.000Z"}"#,
        #"{"seq":11,"revision":7,"recordedAt":NOW,"kind":"allMarked","user":"ada","as":"read","thread":null,"upTo":10}"#,
        #"{"seq":12,"revision":8,"recordedAt":NOW,"kind":"undone","user":"ada","event":11}"#,
        #"{"seq":13,"revision":9,"recordedAt":NOW,"kind":"retracted","user":"ada","item":6}"#,
        #"{"seq":14,"revision":10,"recordedAt":NOW,"kind":"unsubscribed","user":"ada","topic":"news","#
            + #""topicRevision":4}"#,
        #"{"seq":15,"revision":11,"recordedAt":NOW,"kind":"notified","user":"ada","key":"q","#
            + #""remindAt":"2030-01-01T00:00:00.000Z","actions":[{"id":"yes","label":"Do it"},{"id":"no","label":"a=b"}]}"#,
        #"{"seq":16,"revision":12,"recordedAt":NOW,"kind":"muted","user":"ada","all":true,"until":"2030-01-01T00:00:00.000Z"}"#,
        #"{"seq":17,"revision":13,"recordedAt":NOW,"kind":"acted","user":"ada","item":15,"action":"yes","note":"Now","#
            + #""asOf":16}"#,
        #"{"seq":18,"revision":14,"recordedAt":NOW,"kind":"unmuted","user":"ada","all":true}"#,
    ]

    @Test func anotherAnswerIsRefusedWithTheOneThatCounts() throws {
        try withStore { store throws in
            _ = try appended(store, ["notify", "ada", "--key", "q", "--action", "yes=Yes", "--action", "no=No"])
            _ = try appended(store, ["act", "ada", "q", "yes"])
            let again = try TraylogRun.of([
                "--store", store.directory, "--json", "act", "ada", "q", "yes", "--note", "x",
            ])
            #expect(again.status == 0 && again.text == #"{"result":"unchanged"}"# + "\n")
            let other = try TraylogRun.of(["--store", store.directory, "--json", "act", "ada", "q", "no"])
            #expect(other.status == 65 && other.errorText.contains(#""error":"alreadyActed""#), "\(other.errorText)")
            #expect(other.errorText.contains(#""action":"yes""#), "\(other.errorText)")
        }
    }

    @Test func everyVerbLeavesItsEvent() throws {
        try withStore { store throws in
            for (index, verb) in Self.verbs.enumerated() {
                #expect(try appended(store, verb) == .number(Double(index + 1)), "\(verb)")
            }
            #expect(lines(try store.run("log", "--json")) == Self.events)
            let own = Self.events.filter { $0.contains(#""user":"ada""#) }
            #expect(lines(try store.run("history", "ada", "--json")) == own)
            #expect(try store.run("replay").status == 0)
        }
    }

    /// The same as JSON lines: the fields have the events' names.
    @Test func everyCommandIsALineOfAppend() throws {
        try withStore { store throws in
            try store.append(
                #"{"kind":"subscribe","user":"ada","topic":"news"}"#,
                #"{"kind":"broadcast","topic":"news","title":"One","key":"k"}"#,
                #"{"kind":"edit","item":2,"title":null}"#,
                #"{"kind":"snooze","user":"ada","item":2,"until":"2030-01-01T00:00:00Z"}"#,
                #"{"kind":"wake","user":"ada","item":2}"#, #"{"kind":"seeTray","user":"ada"}"#,
                #"{"kind":"undo","user":"ada","event":6}"#, #"{"kind":"retract","item":2}"#,
                #"{"kind":"unsubscribe","user":"ada","topic":"news"}"#)
            let kinds: [JSONValue] = [
                "subscribed", "broadcast", "edited", "snoozed", "woken", "traySeen", "undone", "retracted",
                "unsubscribed",
            ]
            #expect(try store.log().map { $0["kind"] } == kinds)
        }
    }

    @Test func anItemShowsItsTopicAndItsSnooze() throws {
        try withStore { store throws in
            for verb in Self.verbs.prefix(2) { _ = try appended(store, verb) }
            _ = try appended(store, ["snooze", "ada", "2", "--until", Self.time])
            #expect(
                lines(try store.run("inbox", "ada", "--snoozed", "--json")) == [
                    #"{"user":"ada","asOf":3,"items":[{"seq":2,"position":2,"key":"k","topic":"news","thread":"t","title":"One","#
                        + #""summaryCount":1,"level":"active","silent":false,"muted":false,"seen":false,"read":false,"#
                        + #""archived":false,"snoozedUntil":"2030-01-01T00:00:00.000Z","#
                        + #""expiresAt":"2030-01-01T00:00:00.000Z","recordedAt":NOW}],"next":null}"#
                ])
            let inbox = lines(try store.run("inbox", "ada", "--json"))
            #expect(inbox == [#"{"user":"ada","asOf":3,"items":[],"next":null}"#])
        }
    }

    @Test func whatIsPlannedIsListedUntilATickLetsItArrive() throws {
        try withStore { store throws in
            func run(_ arguments: String...) throws -> TraylogRun {
                let run = try TraylogRun.of(["--store", store.directory] + arguments)
                #expect(run.status == 0, "\(arguments): \(run.errorText)")
                return run
            }
            _ = try appended(store, ["notify", "ada", "--key", "k", "--title", "Soon", "--not-before", Self.time])
            _ = try appended(store, ["broadcast", "news", "--title", "All", "--not-before", "2030-01-01T00:00:01Z"])
            _ = try appended(store, ["edit", "ada", "k", "--title", "Later", "--not-before", "2030-01-01T00:00:02Z"])
            let all = #"{"seq":2,"topic":"news","notBefore":"2030-01-01T00:00:01.000Z","title":"All"}"#
            let ada = #"{"seq":1,"user":"ada","notBefore":"2030-01-01T00:00:02.000Z","title":"Later"}"#
            #expect(try run("scheduled", "--json").lines == [all, ada])
            #expect(try run("scheduled", "ada", "--json").lines == [ada])
            let first = try run("scheduled", "--limit", "1", "--json").lines
            #expect(first.count == 2 && first.first == all)
            let cursor = String(first[1].dropFirst(#"{"next":""#.count).dropLast(2))
            #expect(try run("scheduled", "--cursor", cursor, "--json").lines == [ada])
            #expect(try run("scheduled").text.contains("topic news"))
            #expect(try run("inbox", "ada").text == "no items\n")
            let unknown = try TraylogRun.of(["--store", store.directory, "--json", "mark", "ada", "read", "k"])
            #expect(unknown.status == 65 && unknown.errorText.contains("unknownItem"))
            let tick = try run("tick", "--now", "2030-01-01T00:00:02Z", "--json")
            #expect(tick.text == #"{"arrived":2,"woken":0,"expired":0,"unmuted":0,"reminded":0,"head":5}"# + "\n")
            #expect(try run("scheduled", "--json").lines.isEmpty)
            #expect(try run("show", "ada", "k").text.contains("arrived"))
        }
    }

    @Test func tickSaysWhatItDid() throws {
        try withStore { store throws in
            _ = try appended(store, ["notify", "ada", "--expires-at", Self.time])
            _ = try appended(store, ["notify", "ada"])
            _ = try appended(store, ["snooze", "ada", "2", "--until", Self.time])
            let early = try store.run("tick", "--now", "2029-12-31T23:59:59.999Z", "--json")
            #expect(early.text == #"{"woken":0,"expired":0,"unmuted":0,"reminded":0,"head":3}"# + "\n")
            let due = try store.run("tick", "--now", "2030-01-01T01:00:00+01:00", "--json")
            #expect(due.text == #"{"woken":1,"expired":1,"unmuted":0,"reminded":0,"head":5}"# + "\n")
            #expect(
                try store.run("tick", "--now", Self.time).text == "woken 0, expired 0, unmuted 0, reminded 0, head 5\n")
            #expect(try store.run("tick").text == "woken 0, expired 0, unmuted 0, reminded 0, head 5\n")
            #expect(
                lines(try store.run("log", "--from", "4", "--json")) == [
                    #"{"seq":4,"revision":4,"recordedAt":NOW,"kind":"expired","user":"ada","item":1}"#,
                    #"{"seq":5,"revision":5,"recordedAt":NOW,"kind":"woken","user":"ada","item":2}"#,
                ])
        }
    }

    private struct Refused: Sendable {
        var arguments: [String]
        var error: String

        init(_ error: String, _ arguments: String...) { (self.arguments, self.error) = (arguments, error) }
    }

    /// Item 2 is a broadcast, item 3 ada's own, item 4 retracted.
    private static let refusals = [
        Refused("unknownItem", "edit", "ada", "2", "--title", "x"), Refused("unknownItem", "retract", "ada", "2"),
        Refused("unknownItem", "edit", "--broadcast", "3", "--title", "x"),
        Refused("unknownItem", "retract", "--broadcast", "99"),
        Refused("unknownItem", "retract", "--broadcast", "--keys", "k"),
        Refused("itemGone", "snooze", "ada", "4", "--until", "2030-01-01T00:00:00Z"),
        Refused("itemGone", "wake", "ada", "4"),
        Refused("notSnoozed", "wake", "ada", "3"), Refused("notUndoable", "undo", "ada", "1"),
        Refused("unknownEvent", "undo", "ada", "2"), Refused("unknownEvent", "undo", "ada", "99"),
        Refused("unknownEvent", "undo", "bob", "1"),
        Refused("keyConflict", "broadcast", "news", "--title", "y", "--key", "k"),
        Refused("invalid", "subscribe", "ada", ""), Refused("invalid", "broadcast", ""),
        Refused("invalid", "edit", "ada", "3"),
    ]

    @Test func aRefusalIs65AndStoresNothing() throws {
        try withStore { store throws in
            for verb in Self.verbs.prefix(2) { _ = try appended(store, verb) }
            let others = [["notify", "ada"], ["notify", "ada"], ["retract", "ada", "4"]]
            for verb in others { _ = try appended(store, verb) }
            for refused in Self.refusals {
                let run = try TraylogRun.of(["--store", store.directory, "--json"] + refused.arguments)
                #expect(run.status == 65 && run.text.isEmpty, "\(refused.arguments)")
                #expect(try JSONValue.object(run.errorText)["error"] == .text(refused.error), "\(refused.arguments)")
                #expect(try store.log().count == 5, "\(refused.arguments)")
            }
        }
    }

    @Test(arguments: [
        ["snooze", "ada", "1"], ["snooze", "ada", "1", "--until", "tomorrow"], ["tick", "--now", "soon"],
        ["edit", "--broadcast", "ada", "1", "--title", "x"], ["edit", "ada", "--title", "x"],
        ["retract", "--broadcast"],
        ["undo", "ada", "one"], ["broadcast", "news", "--collapse-key", "c"], ["subscribe", "ada"],
        ["unsubscribe", "ada"],
    ])
    func anUnreadableArgumentExitsWith64(arguments: [String]) throws {
        try withStore { store throws in
            let run = try TraylogRun.of(arguments + ["--store", store.directory])
            #expect(run.status == 64, "\(run.errorText)")
            #expect(!store.exists)
        }
    }
}
