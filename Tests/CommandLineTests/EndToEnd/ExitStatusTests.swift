import Foundation
import TestSupport
import Testing

@Suite
struct ExitStatusTests {
    static let queries = [
        ["tray", "ada"], ["inbox", "ada"], ["threads", "ada"], ["history", "ada"], ["log"], ["users"], ["stats"],
        ["replay"], ["replay", "--rebuild"], ["verify"], ["watch", "ada"], ["log", "--follow"],
        ["tree-head"], ["tree-head", "--save"], ["prove", "1"], ["prove-consistency", "0", "1"], ["audit", "ada"],
        ["diff", "ada", "--from", "0"],
    ]

    @Test(arguments: queries)
    func aQueryNeverCreatesAStore(query: [String]) throws {
        try withStore { store in
            let run = try TraylogRun.of(query + ["--store", store.directory])
            #expect(run.status == 66)
            #expect(run.output.isEmpty)
            #expect(run.errorLines.count == 1)
            #expect(run.errorText.hasPrefix("traylog: "))
            #expect(!store.exists)
        }
    }

    @Test func anEmptyDirectoryIsNotAStore() throws {
        try withDirectory { directory in
            let run = try TraylogRun.of(["tray", "ada", "--store", directory])
            #expect(run.status == 66)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
        }
    }

    @Test(arguments: [[], ["tray"], ["tray", "ada"], ["no-such-command"], ["tray", "ada", "--no-such-option"]])
    func usageIs64(arguments: [String]) throws {
        let run = try TraylogRun.of(arguments)
        #expect(run.status == 64)
        #expect(run.output.isEmpty)
        #expect(run.errorText.contains("Usage: traylog"))
    }

    @Test func helpAndVersionAreDone() throws {
        #expect(try TraylogRun.of(["--version"]).text == "0.1.0\n")
        let help = try TraylogRun.of(["append", "--help"])
        #expect(help.status == 0)
        #expect(help.text.contains("EXAMPLES"))
        let completions = try TraylogRun.of(["--generate-completion-script", "bash"])
        #expect(completions.status == 0)
        #expect(completions.text.contains("mark-all"))
    }

    @Test func theStoreCanComeFromTheEnvironment() throws {
        try withStore { store in
            let environment = ["TRAYLOG_STORE": store.directory]
            #expect(try TraylogRun.of(["notify", "ada"], environment: environment).status == 0)
            #expect(try TraylogRun.of(["tray", "ada"], environment: environment).status == 0)
            // The option wins.
            let other = try TraylogRun.of(["tray", "ada", "--store", store.directory + "-2"], environment: environment)
            #expect(other.status == 66)
            #expect(try TraylogRun.of(["tray", "ada"], environment: ["TRAYLOG_STORE": ""]).status == 64)
        }
    }

    @Test func aSecondWriterLearnsWhoHoldsTheStore() throws {
        try withStore { store in
            let holder = try Conversation(["append", "-", "--ack", "--store", store.directory])
            try holder.say(#"{"kind":"notify","user":"ada"}"# + "\n")
            _ = try holder.hear()
            for writer in [["notify", "bob"], ["append", "-"], ["see", "ada", "--json"]] {
                let run = try TraylogRun.of(writer + ["--store", store.directory])
                #expect(run.status == 69)
                #expect(run.output.isEmpty)
                let words = run.errorText.split { !$0.isNumber }
                #expect(words.contains(Substring(String(holder.processID))), "\(run.errorText)")
            }
            #expect(try store.run("tray", "ada").status == 0)
            try holder.endInput()
            #expect(holder.waitForEnd() == 0)
            #expect(try store.run("notify", "bob").status == 0)
        }
    }

    @Test func aDamagedStoreExitsWith74() throws {
        try withStore { store in
            try store.append(#"{"kind":"notify","user":"ada"}"#)
            try Data("no store".utf8).write(to: URL(filePath: StoreFiles.data(of: store.directory)))
            let run = try store.run("tray", "ada")
            #expect(run.status == 74)
            #expect(run.errorText.hasPrefix("traylog: "))
            #expect(try store.run("notify", "ada").status == 74)
        }
    }

    @Test func unwritableOutputExitsWith74() throws {
        guard FileManager.default.fileExists(atPath: "/dev/full") else { return }
        try withStore { store in
            try store.append(#"{"kind":"notify","user":"ada"}"#)
            let process = try TraylogRun.process(["tray", "ada", "--store", store.directory])
            process.standardOutput = try FileHandle(forWritingTo: URL(filePath: "/dev/full"))
            process.standardError = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            #expect(process.terminationStatus == 74)
        }
    }
}
