import Foundation
import TestSupport
import Testing

/// Faults that operators and auditors found, each with the correct behaviour.
struct OperatorFaultTests {
    private func notify(_ user: String, _ number: Int, _ more: String = "") -> String {
        #"{"kind":"notify","user":"\#(user)","key":"k\#(number)","title":"Title \#(number)"\#(more)}"#
    }

    /// A store of ten items, of which the first five were deleted, compacted at 10.
    private func withCompacted(_ body: (TestStore) throws -> Void) throws {
        try withStore { store in
            for number in 1...10 { try store.append(notify("ada", number)) }
            try store.append(#"{"kind":"mark","user":"ada","as":"deleted","items":[1,2,3,4,5]}"#)
            #expect(try store.run("compact", "--before", "11", "--yes").status == 0)
            try body(store)
        }
    }

    @Test(arguments: ["1", "10"])
    func anAuditFromBelowTheFloorIsRefusedAndNotDamage(from: String) throws {
        try withCompacted { store in
            let run = try store.run("audit", "ada", "--from", from)
            #expect(run.status == 65)
            #expect(run.errorText.contains("compacted: below the floor, which is 11"))
            #expect(try store.run("audit", "ada", "--from", "12").status == 0)
        }
    }

    @Test func aPageIsWrittenThroughDevicesPipesAndLinks() throws {
        try withStore { store in
            try store.append(notify("ada", 1))
            try withDirectory { directory in
                let manager = FileManager.default
                let (target, link, fifo) = (directory + "/target", directory + "/link", directory + "/fifo")
                try Data("old".utf8).write(to: URL(filePath: target))
                try manager.createSymbolicLink(atPath: link, withDestinationPath: target)
                #expect(try store.run("audit", "ada", "--html", link).status == 0)
                #expect(try manager.destinationOfSymbolicLink(atPath: link) == target)
                #expect(try String(contentsOfFile: target, encoding: .utf8).contains("<!DOCTYPE html>"))
                #expect(
                    try TraylogRun.of(["--store", store.directory, "audit", "ada", "--html", "/dev/null"]).status == 0)
                #expect(
                    try manager.attributesOfItem(atPath: "/dev/null")[.type] as? FileAttributeType
                        == .typeCharacterSpecial)
                #expect(try store.run("audit", "ada", "--html", "-").text.hasPrefix("<!DOCTYPE html>"))
                _ = try Self.output(of: Self.started("/usr/bin/mkfifo", fifo))
                let listener = try Self.started("/bin/cat", fifo)
                #expect(try store.run("audit", "ada", "--html", fifo).status == 0)
                #expect(try Self.output(of: listener).hasPrefix("<!DOCTYPE html>"))
                #expect(try manager.attributesOfItem(atPath: fifo)[.type] as? FileAttributeType == .typeUnknown)
                try manager.removeItem(atPath: fifo)
                let missing = try store.run("audit", "ada", "--html", directory + "/no/x.html")
                #expect(missing.status == 74)
                #expect(!missing.errorText.contains(".partial"))
                #expect(try manager.contentsOfDirectory(atPath: directory).sorted() == ["link", "target"])
            }
        }
    }

    private static func started(_ program: String, _ argument: String) throws -> Process {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = [argument]
        process.standardOutput = Pipe()
        try process.run()
        return process
    }

    private static func output(of process: Process) throws -> String {
        guard let pipe = process.standardOutput as? Pipe else { return "" }
        let data = try pipe.fileHandleForReading.readToEnd()
        process.waitUntilExit()
        return String(decoding: data ?? Data(), as: UTF8.self)
    }

    @Test func aPipeGetsUncutText() throws {
        try withStore { store in
            let long = String(repeating: "long-", count: 40) + "end"
            try store.append(
                #"{"kind":"notify","user":"ada","thread":"\#(long)","title":"\#(long)","body":"\#(long)"}"#)
            for view in [
                ["history", "ada"], ["log"], ["inbox", "ada"], ["threads", "ada"], ["audit", "ada"], ["show", "1"],
            ] {
                let run = try TraylogRun.of(["--store", store.directory] + view)
                #expect(run.text.contains(long) && !run.text.contains("…"), "\(view)")
            }
        }
    }

    @Test func aDryRunChangesNoByteOfTheData() throws {
        try withStore { store in
            try store.append((1...40).map { notify("ada", $0) }.joined(separator: "\n"))
            try store.append(#"{"kind":"markAll","user":"ada","as":"deleted"}"#)
            let data = URL(filePath: StoreFiles.data(of: store.directory))
            let before = try Data(contentsOf: data)
            let run = try store.run("compact", "--before", "41", "--dry-run")
            #expect(run.status == 0 && run.text.contains("would drop"))
            #expect(try Data(contentsOf: data) == before)
        }
    }

    @Test func anEmptyStoreOptionIsNotTheStoreOfTheEnvironment() throws {
        try withStore { store in
            try store.append(notify("ada", 1))
            let run = try TraylogRun.of(
                ["--store", "", "tray", "ada"], environment: ["TRAYLOG_STORE": store.directory])
            #expect(run.status == 64)
            #expect(run.errorText.contains("'--store' is empty"))
        }
    }

    @Test func aDashWithLettersIsNoHelp() throws {
        try withStore { store in
            let run = try store.run("notify", "-dash", "--title", "x")
            #expect(run.status == 64 && run.output.isEmpty && !store.exists)
            #expect(try store.run("notify", "--title", "x", "--", "-dash").status == 0)
            #expect(try store.run("tray", "-h").status == 0)
        }
    }

    @Test(arguments: [
        ["trya", "ada"], ["--json", "trya", "ada"], ["tray", "ada", "--colour"], ["tray", "ada", "--as-of"],
    ])
    func anUnknownCommandOrOptionIsNamedAndStoresNothing(arguments: [String]) throws {
        try withStore { store in
            let run = try TraylogRun.of(["--store", store.directory] + arguments)
            #expect(run.status == 64 && run.output.isEmpty && !store.exists)
            #expect(["trya", "--colour", "--as-of"].contains { run.errorText.contains($0) }, "\(run.errorText)")
        }
    }

    @Test func anEmptyRangeIsAUsageError() throws {
        try withStore { store in
            for number in 1...4 { try store.append(notify("ada", number)) }
            for query in [["history", "ada"], ["log"], ["export"]] {
                #expect(
                    try TraylogRun.of(["--store", store.directory] + query + ["--from", "3", "--to", "2"]).status == 64)
            }
            #expect(try store.run("audit", "ada", "--from", "3", "--to", "2").status == 65)
            #expect(try store.run("log", "--from", "9").text == "no events\n")
            #expect(try store.run("log", "--from", "9", "--json").text == "")
        }
    }

    @Test func aQueryOfAnUnknownUserSaysSo() throws {
        try withStore { store in
            try store.append(notify("ada", 1))
            for query in [["tray"], ["audit"], ["history"], ["inbox"], ["threads"], ["diff", "--from", "0"]] {
                let arguments = ["--store", store.directory, query[0], "adda"] + query.dropFirst()
                let run = try TraylogRun.of(arguments)
                #expect(run.status == 0 && run.errorText.contains("there is no user \"adda\""), "\(query)")
                #expect(try TraylogRun.of(arguments + ["--json"]).errors.isEmpty)
                #expect(try TraylogRun.of(arguments.map { $0 == "adda" ? "ada" : $0 }).errors.isEmpty)
            }
        }
    }

    @Test func theActorOfAnErasedEventIsNotItsVictim() throws {
        try withStore { store in
            try store.append(notify("ada", 1, #","actor":"bob""#))
            #expect(try store.run("erase", "ada", "--yes").status == 0)
            let history = try store.run("history", "erased-1").lines
            #expect(history.count == 3)
            #expect(!history[1].contains("erased-1"))
            #expect(try store.run("log", "--actor", "erased-1", "--json").lines.count == 1)
        }
    }

    @Test func refusalsUseTheWordsOfTheCommandLine() throws {
        try withStore { store in
            try store.append(notify("ada", 1))
            let run = try store.run("tray", "ada", "--as-of", "99")
            #expect(run.errorText.contains("--as-of 99 is beyond the head, which is 1"))
            #expect(try store.run("compact", "--before", "99", "--yes").errorText.contains("--before 99 is beyond"))
        }
    }

    @Test func timesAreAcceptedAsTheyAreShown() throws {
        try withStore { store in
            try store.append(notify("ada", 1))
            #expect(try store.run("see", "ada").status == 0)
            let east = ["TZ": "Test-5"]
            let line = try #require(
                try store.run("tray", "ada", environment: east).lines.first { $0.hasPrefix("seen at") })
            let shown = line.dropFirst("seen at".count).drop { $0 == " " }
            #expect(shown.hasSuffix(" Test"))
            #expect(try store.run("tray", "ada", "--as-of", String(shown), environment: east).status == 0)
            #expect(try store.run("log", environment: east).lines[0].contains("RECORDED (Test)"))
        }
    }

    @Test func everyErrorIsJSONIfJSONIsRequested() throws {
        try withStore { store in
            let cases: [([String], String)] = [
                (["tray", "ada"], "notFound"), (["trya"], "usage"), (["tray"], "usage"),
                (["append", "/nonexistent"], "inputOutput"),
            ]
            for (arguments, name) in cases {
                let run = try TraylogRun.of(["--store", store.directory, "--json"] + arguments)
                let error = try JSONValue.object(run.errorText)["error"]
                #expect(error == .text(name))
            }
        }
    }

    @Test func aForeignFormOfInputIsNamed() throws {
        try withStore { store in
            let forms: [([UInt8], String)] = [
                ([0x1F, 0x8B, 8, 0], "gzip -dc"), ([0xEF, 0xBB, 0xBF, 0x7B], "byte order mark"),
            ]
            for (bytes, word) in forms {
                let run = try TraylogRun.of(["--store", store.directory, "append"], input: Data(bytes))
                #expect(run.status == 65 && run.errorText.contains(word))
            }
        }
    }

    @Test func anInterruptedAppendSaysHowFarItCame() throws {
        try withStore { store in
            let append = try Conversation(["append", "-", "--ack", "--store", store.directory])
            try append.say(notify("ada", 1) + "\n")
            #expect(try append.hear()?.contains(#""seq":1"#) == true)
            append.interrupt()
            #expect(try append.hear() == #"{"read":1,"appended":1,"unchanged":0,"duplicates":0,"refused":0,"head":1}"#)
            #expect(append.waitForEnd() == 130)
        }
    }

    @Test func examplesAndUsageFitEightyColumns() throws {
        for command in try TraylogRun.of(["--generate-completion-script", "fish"]).text.isEmpty
            ? [] : ["audit", "verify", "log", "notify", "inbox"]
        {
            let help = try TraylogRun.of(["help", command], environment: ["COLUMNS": "80"])
            #expect(help.lines.allSatisfy { $0.count <= 80 }, "\(command)")
            // A wrapped example would run as two commands.
            for line in help.text.split(separator: "EXAMPLES").last?.split(separator: "USAGE").first?.split(
                separator: "\n") ?? []
            {
                #expect(line.hasPrefix("  "), "\(line)")
            }
        }
    }
}
