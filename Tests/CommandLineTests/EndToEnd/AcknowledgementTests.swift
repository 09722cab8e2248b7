import Foundation
import Testing

@Suite
struct AcknowledgementTests {
    @Test func eachCommandIsAnsweredBeforeTheNextIsSent() throws {
        try withStore { store in
            let conversation = try Conversation(["append", "-", "--ack", "--store", store.directory])
            let questions = [
                #"{"kind":"notify","user":"ada","key":"a"}"#, #"{"kind":"notify","user":"ada","key":"a"}"#,
                #"{"kind":"unmute","user":"ada","thread":"t"}"#, #"{"kind":"seeTray","user":"ada"}"#,
            ]
            let answers = [
                #"{"line":1,"result":"appended","seq":1}"#, #"{"line":2,"result":"duplicate","seq":1}"#,
                #"{"line":3,"result":"unchanged"}"#, #"{"line":4,"result":"appended","seq":2}"#,
            ]
            for (question, answer) in zip(questions, answers) {
                try conversation.say(question + "\n")
                #expect(try conversation.hear() == answer)
                // Everybody can read an answered command's event.
                #expect(try store.run("tray", "ada", "--json").status == 0)
            }
            try conversation.endInput()
            let summary = #"{"read":4,"appended":2,"unchanged":1,"duplicates":1,"refused":0,"head":2}"#
            #expect(try conversation.hear() == summary)
            #expect(try conversation.hear() == nil)
            #expect(conversation.waitForEnd() == 0)
        }
    }

    @Test func aLineThatComesInPiecesIsAnsweredOnce() throws {
        try withStore { store in
            let conversation = try Conversation(["append", "-", "--ack", "--store", store.directory])
            try conversation.say(#"{"kind":"notify","user":"ada"}"# + "\n" + #"{"kind":"not"#)
            #expect(try conversation.hear() == #"{"line":1,"result":"appended","seq":1}"#)
            try conversation.say(#"ify","user":"ada"}"#)
            Thread.sleep(forTimeInterval: 0.05)
            try conversation.say("\n\n")
            #expect(try conversation.hear() == #"{"line":2,"result":"appended","seq":2}"#)
            try conversation.say(#"{"kind":"notify","user":"ada"}"#)
            try conversation.endInput()
            #expect(try conversation.hear() == #"{"line":4,"result":"appended","seq":3}"#)
            #expect(try conversation.hear()?.hasPrefix(#"{"read":3,"#) == true)
        }
    }

    @Test func aRefusalIsAnsweredAndEndsTheRunWhileTheInputIsOpen() throws {
        try withStore { store in
            let conversation = try Conversation(["append", "-", "--ack", "--store", store.directory])
            try conversation.say(#"{"kind":"notify","user":"ada"}"# + "\nnonsense\n")
            #expect(try conversation.hear() == #"{"line":1,"result":"appended","seq":1}"#)
            #expect(try conversation.hear() == #"{"line":2,"result":"refused","error":"invalid"}"#)
            #expect(
                try conversation.hear()
                    == #"{"read":2,"appended":1,"unchanged":0,"duplicates":0,"refused":1,"head":1}"#)
            #expect(conversation.waitForEnd() == 65)
        }
    }

    @Test func skipRefusedContinuesAfterARefusal() throws {
        try withStore { store in
            let conversation = try Conversation(
                ["append", "-", "--ack", "--skip-refused", "--store", store.directory])
            try conversation.say("nonsense\n")
            #expect(try conversation.hear() == #"{"line":1,"result":"refused","error":"invalid"}"#)
            try conversation.say(#"{"kind":"notify","user":"ada"}"# + "\n")
            #expect(try conversation.hear() == #"{"line":2,"result":"appended","seq":1}"#)
            try conversation.endInput()
            #expect(try conversation.hear()?.contains(#""refused":1,"#) == true)
            #expect(conversation.waitForEnd() == 0)
        }
    }

    @Test func manyCommandsAreAnsweredInOrder() throws {
        try withStore { store in
            let input = (1...5_000).map { #"{"kind":"notify","user":"u\#($0 % 9)"}"# }.joined(separator: "\n")
            let run = try store.run("append", "-", "--ack", input: input)
            let expected = (1...5_000).map { #"{"line":\#($0),"result":"appended","seq":\#($0)}"# }
            #expect(Array(run.lines.dropLast()) == expected)
        }
    }

    @Test func aPauseStoresPendingCommandsWithoutAcknowledgements() throws {
        try withStore { store in
            let conversation = try Conversation(["append", "-", "--json", "--store", store.directory])
            try conversation.say(#"{"kind":"notify","user":"ada"}"# + "\n")
            var head: JSONValue?
            for _ in 0..<100 where head != 1 {
                Thread.sleep(forTimeInterval: 0.05)
                let statistics = try store.run("stats", "--json")
                head = try statistics.status == 0 ? JSONValue.object(statistics.text)["head"] : nil
            }
            #expect(head == 1)
            try conversation.endInput()
            #expect(try conversation.hear()?.contains(#""head":1}"#) == true)
        }
    }
}
