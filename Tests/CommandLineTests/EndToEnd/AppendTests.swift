import Foundation
import Testing

struct AppendTests {
    private func notify(_ number: Int, user: String = "ada") -> String {
        #"{"kind":"notify","user":"\#(user)","key":"k\#(number)","title":"T\#(number)"}"#
    }

    @Test func linesMayEndWithCarriageReturnAndTheLastWithNothing() throws {
        try withStore { store in
            let input = "\r\n\(notify(1))\r\n \t\r\n\(notify(2))\n\n\n\(notify(3))"
            let run = try store.run("append", "-", "--json", input: input)
            #expect(run.status == 0)
            #expect(run.text == #"{"read":3,"appended":3,"unchanged":0,"duplicates":0,"refused":0,"head":3}"# + "\n")
            let acks = try store.run("append", "--ack", input: input)
            #expect(try acks.outputs("line") == [2, 4, 7, nil])
        }
    }

    @Test func aSecondRunAppendsNothingTwice() throws {
        try withStore { store in
            let input = (1...2_500).map { notify($0, user: "user-\($0 % 30)") }.joined(separator: "\n")
            let first = try store.run("append", "-", "--json", input: input)
            #expect(
                first.lines == [
                    #"{"read":2500,"appended":2500,"unchanged":0,"duplicates":0,"refused":0,"head":2500}"#
                ])
            let second = try store.run("append", "-", "--json", input: input)
            #expect(
                second.lines == [
                    #"{"read":2500,"appended":0,"unchanged":0,"duplicates":2500,"refused":0,"head":2500}"#
                ])
        }
    }

    @Test func aFileIsReadAsStandardInputIs() throws {
        try withStore { store in
            try withDirectory { directory in
                try Data(notify(1).utf8).write(to: URL(filePath: directory + "/commands.jsonl"))
                let run = try store.run("append", directory + "/commands.jsonl")
                #expect(run.status == 0)
                #expect(run.text == "read 1, appended 1, unchanged 0, duplicates 0, refused 0, head 1\n")
            }
        }
    }

    @Test func aFileThatIsMissingCreatesNoStore() throws {
        try withStore { store in
            let run = try store.run("append", "/nowhere/commands.jsonl")
            #expect(run.status == 74)
            #expect(run.errorText == "traylog: /nowhere/commands.jsonl: No such file or directory\n")
            #expect(!store.exists)
        }
    }

    @Test func emptyInputCreatesAnEmptyStore() throws {
        try withStore { store in
            let run = try store.run("append", "-", "--json")
            #expect(run.text == #"{"read":0,"appended":0,"unchanged":0,"duplicates":0,"refused":0,"head":0}"# + "\n")
            #expect(try store.run("stats").status == 0)
        }
    }

    @Test func aRefusalInALaterBatchKeepsWhatCameBefore() throws {
        try withStore { store in
            let input = ((1...1_500).map { notify($0) } + ["nonsense"] + (1_501...4_000).map { notify($0) })
                .joined(separator: "\n")
            let run = try store.run("append", "-", "--json", input: input)
            #expect(run.status == 65)
            #expect(try JSONValue.object(run.errorText)["line"] == 1_501)
            #expect(
                run.lines == [#"{"read":1501,"appended":1500,"unchanged":0,"duplicates":0,"refused":1,"head":1500}"#])
        }
    }

    @Test func theProgressBarStaysAwayFromFiles() throws {
        try withStore { store in
            let run = try store.run("append", input: (1...3_000).map { notify($0) }.joined(separator: "\n"))
            #expect(run.errors.isEmpty)
        }
    }
}
