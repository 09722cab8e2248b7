import Foundation
import Testing

/// The refusals of `append`, with name, field and line.
struct RefusalTests {
    private static let good = #"{"kind":"notify","user":"ada","key":"k","title":"T"}"#

    struct Refused: Sendable, CustomTestStringConvertible {
        var line: String
        var error: String
        var mention: String
        var testDescription: String { String(line.prefix(80)) }

        init(_ line: String, _ error: String, mentions mention: String) {
            self.line = line
            self.error = error
            self.mention = mention
        }
    }

    @Test(arguments: [
        Refused(#"{"kind":"notify","user":"ada""#, "invalid", mentions: "line:"),
        Refused("nonsense", "invalid", mentions: "line:"),
        Refused("[]", "invalid", mentions: "line:"),
        Refused(#"{"kind":"notify","user":"ada"} {}"#, "invalid", mentions: "line:"),
        Refused(#"{"user":"ada"}"#, "invalid", mentions: "kind:"),
        Refused(#"{"kind":"notice","user":"ada"}"#, "invalid", mentions: "kind:"),
        Refused(#"{"kind":"notify"}"#, "invalid", mentions: "user:"),
        Refused(#"{"kind":"notify","user":""}"#, "invalid", mentions: "user:"),
        Refused(#"{"kind":"notify","user":"a\u0007"}"#, "invalid", mentions: "user:"),
        Refused(#"{"kind":"notify","user":17}"#, "invalid", mentions: "user:"),
        Refused(#"{"kind":"notify","user":"ada","colour":1}"#, "invalid", mentions: "colour:"),
        Refused(#"{"kind":"notify","user":"ada","title":"a","title":"b"}"#, "invalid", mentions: "title:"),
        Refused(#"{"kind":"notify","user":"ada","summaryCount":-1}"#, "invalid", mentions: "summaryCount:"),
        Refused(#"{"kind":"notify","user":"ada","level":"loud"}"#, "invalid", mentions: "level:"),
        Refused(#"{"kind":"notify","user":"ada","occurredAt":"yesterday"}"#, "invalid", mentions: "occurredAt:"),
        Refused(
            #"{"kind":"notify","user":"ada","title":"\#(String(repeating: "x", count: 1_025))"}"#, "invalid",
            mentions: "title:"),
        Refused(
            #"{"kind":"notify","user":"ada","key":"\#(String(repeating: "x", count: 257))"}"#, "invalid",
            mentions: "key:"),
        Refused(String(repeating: "x", count: 1_048_577), "invalid", mentions: "line:"),
        Refused(#"{"kind":"mark","user":"ada","as":"read","items":[]}"#, "invalid", mentions: "items:"),
        Refused(#"{"kind":"mute","user":"ada"}"#, "invalid", mentions: "thread"),
        Refused(#"{"kind":"mark","user":"ada","as":"read","items":[99]}"#, "unknownItem", mentions: "99"),
        Refused(#"{"kind":"mark","user":"bob","as":"read","items":[1]}"#, "unknownItem", mentions: "1"),
        Refused(#"{"kind":"mark","user":"ada","as":"read","items":["nope"]}"#, "unknownItem", mentions: "nope"),
        Refused(#"{"kind":"edit","user":"ada","item":2,"title":"T"}"#, "itemGone", mentions: "2"),
        Refused(#"{"kind":"retract","user":"ada","item":2}"#, "itemGone", mentions: "2"),
        Refused(#"{"kind":"seeTray","user":"ada","upTo":1000}"#, "upToBeyondHead", mentions: "upTo:"),
        Refused(#"{"kind":"notify","user":"ada","key":"k","title":"other"}"#, "keyConflict", mentions: "k"),
        Refused(#"{"kind":"notify","user":"ada","expectedRevision":-1}"#, "invalid", mentions: "expectedRevision:"),
        Refused(#"{"kind":"notify","user":"ada","expectedRevision":2}"#, "wrongRevision", mentions: "3"),
    ])
    func aRefusalHasItsNameItsFieldAndItsLine(refused: Refused) throws {
        try withStore { store in
            try store.append(
                Self.good, #"{"kind":"notify","user":"ada"}"#, #"{"kind":"retract","user":"ada","item":2}"#)
            let other = #"{"kind":"notify","user":"carl"}"#
            let run = try store.run("append", "-", "--json", input: "\n\(other)\n\(refused.line)\n\(other)\n")
            #expect(run.status == 65)
            #expect(run.errorLines.count == 1)
            let error = try JSONValue.object(run.errorText)
            #expect(error["error"] == .text(refused.error))
            #expect(error["line"] == 3)
            #expect(error["message"]?.text?.contains(refused.mention) == true, "\(run.errorText)")
            let expected = #"{"read":2,"appended":1,"unchanged":0,"duplicates":0,"refused":1,"head":4}"#
            #expect(run.text == expected + "\n")
        }
    }

    @Test func bytesThatAreNotUTF8AreRefused() throws {
        try withStore { store in
            let input = Data(#"{"kind":"notify","user":"ada","title":""#.utf8) + [0xC3, 0x28] + Data("\"}\n".utf8)
            let run = try TraylogRun.of(["append", "-", "--json", "--store", store.directory], input: input)
            #expect(run.status == 65)
            let error = try JSONValue.object(run.errorText)
            #expect(error["error"] == "invalid")
            #expect(error["line"] == 1)
        }
    }

    @Test func aRefusalWithoutJSONIsALineOfText() throws {
        try withStore { store in
            let run = try store.run("append", input: "\u{1B}[31m\n")
            #expect(run.status == 65)
            #expect(run.errorText.hasPrefix("traylog: line 1: invalid: line: "))
            #expect(run.text == "read 1, appended 0, unchanged 0, duplicates 0, refused 1, head 0\n")
        }
    }

    @Test func aVerbIsRefusedWithoutLine() throws {
        try withStore { store in
            let run = try store.run("mark", "ada", "read", "7", "--json")
            #expect(run.status == 65)
            #expect(run.text.isEmpty)
            let error = try JSONValue.object(run.errorText)
            #expect(error["error"] == "unknownItem")
            #expect(error["line"] == nil)
            let text = try store.run("mark", "ada", "read", "7")
            #expect(text.errorText.hasPrefix("traylog: unknownItem: "))
        }
    }

    @Test func aCommandThatExpectsAnotherRevisionIsToldThePresentOne() throws {
        try withStore { store in
            #expect(try store.run("notify", "ada", "--expected-revision", "0").status == 0)
            let run = try store.run("mute", "ada", "--thread", "t", "--expected-revision", "0", "--json")
            #expect(run.status == 65)
            let error = try JSONValue.object(run.errorText)
            #expect(error["error"] == "wrongRevision" && error["revision"] == 1)
            #expect(try store.run("mute", "ada", "--thread", "t", "--expected-revision", "1").status == 0)
            let topic = try store.run("broadcast", "news", "--title", "T", "--expected-revision", "1")
            #expect(topic.status == 65 && topic.errorText.hasPrefix("traylog: wrongRevision: "))
        }
    }

    @Test func refusalsOfTheStoreAndOfTheReaderComeInOrder() throws {
        try withStore { store in
            let input = [
                #"{"kind":"mark","user":"ada","as":"read","items":[9]}"#, "nonsense", Self.good,
                #"{"kind":"mark","user":"ada","as":"read","items":[8]}"#, "", "more nonsense",
            ].joined(separator: "\n")
            let run = try store.run("append", "-", "--skip-refused", "--json", input: input)
            #expect(run.status == 0)
            #expect(try run.errors("line") == [1, 2, 4, 6])
            #expect(run.text == #"{"read":5,"appended":1,"unchanged":0,"duplicates":0,"refused":4,"head":1}"# + "\n")
        }
    }
}
