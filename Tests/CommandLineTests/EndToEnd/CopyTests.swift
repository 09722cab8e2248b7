import Foundation
import TestSupport
import Testing

/// `backup`, `export` and `restore`, through the program alone.
struct CopyTests {
    private func withThree(_ body: (TestStore, TestStore) throws -> Void) throws {
        try withStore { store in
            try store.append(
                #"{"kind":"notify","user":"ada","title":"One","data":{"a":1}}"#,
                #"{"kind":"broadcast","topic":"t","title":"Two"}"#, #"{"kind":"seeTray","user":"ada"}"#)
            try body(store, TestStore(directory: store.directory + "-copy"))
        }
    }

    @Test func aBackupAnswersWithItsSizeAndHead() throws {
        try withThree { store, copy throws in
            let run = try store.run("backup", copy.directory, "--json")
            #expect(run.status == 0, "\(run.errorText)")
            let size = try FileManager.default.attributesOfItem(atPath: StoreFiles.data(of: copy.directory))[.size]
            #expect(run.text == #"{"bytes":\#(size as? Int ?? 0),"head":3}"# + "\n")
            #expect(try copy.log() == store.log())
            #expect(try copy.run("verify").status == 0)
            let again = try store.run("backup", copy.directory)
            #expect(again.status == 74)
            #expect(again.errorText.contains("not empty"))
            #expect(try store.run("backup").status == 64)
        }
    }

    @Test func aBackupIsMadeBesideAWriter() throws {
        try withThree { store, copy throws in
            let writer = try Conversation(["append", "-", "--ack", "--store", store.directory])
            try writer.say(#"{"kind":"notify","user":"bob"}"# + "\n")
            _ = try writer.hear()
            let run = try store.run("backup", copy.directory)
            #expect(run.text.hasPrefix("copied: events through 4, "), "\(run)")
            try writer.endInput()
            #expect(writer.waitForEnd() == 0)
            #expect(try copy.log().count == 4)
        }
    }

    @Test func copyingAMissingStoreExitsWith66AndCreatesNothing() throws {
        try withStore { store throws in
            #expect(try store.run("backup", store.directory + "-copy").status == 66)
            #expect(try store.run("export").status == 66)
            #expect(try store.run("restore", store.directory + "-none").status == 74)
            #expect(!store.exists)
            #expect(!FileManager.default.fileExists(atPath: store.directory + "-copy"))
        }
    }

    @Test func anExportRestoresFromAPipe() throws {
        try withThree { store, copy throws in
            let export = try store.run("export").text
            #expect(export.split(separator: "\n").count == 3)
            #expect(export.hasPrefix(#"{"seq":1,"revision":1,"recordedAt":""#))
            let members = try #require(try JSONValue.object(store.run("export").lines[1])["stored"])
            guard case .object(let stored) = members else { return }
            #expect(Set(stored.keys) == ["stream", "salt", "payload", "crc", "last"])
            #expect(stored["stream"] == 2 && stored["last"] == 3)
            let run = try copy.run("restore", "-", "--json", input: export)
            #expect(run.text == #"{"events":3,"head":3}"# + "\n", "\(run.errorText)")
            #expect(try copy.run("export").text == export)
            let again = try copy.run("restore", "-", input: export)
            #expect(again.status == 74)
            #expect(again.errorText.contains("3 events"))
            // Blank lines and other line ends are not events.
            let other = TestStore(directory: store.directory + "-other")
            let spaced = "\n" + export.replacing("\n", with: "\r\n \n")
            #expect(try other.run("restore", "-", input: spaced).text == "restored: 3 events, head 3\n")
            #expect(try other.run("export").text == export)
        }
    }

    @Test func aStoreIsRestoredAsItWasAtAMoment() throws {
        try withThree { store, copy throws in
            let lines = try store.run("export").lines
            let export = lines.joined(separator: "\n")
            let file = store.directory + "-lines"
            try export.write(toFile: file, atomically: true, encoding: .utf8)
            let backup = TestStore(directory: store.directory + "-backup")
            #expect(try store.run("backup", backup.directory).status == 0)
            let time = try #require(try JSONValue.object(lines[1])["recordedAt"]?.text)
            // Lines after the moment are ignored.
            let rotten = lines[..<2].joined(separator: "\n") + "\nnot a line\n"
            let sources: [(String, String?)] = [(file, nil), ("-", export), ("-", rotten), (backup.directory, nil)]
            for (number, (source, input)) in sources.enumerated() {
                let restored = TestStore(directory: copy.directory + "-\(number)")
                let run = try restored.run("restore", source, "--through", "2", input: input ?? "")
                #expect(run.text == "restored: 2 events, head 2\n", "\(source): \(run.errorText)")
                #expect(try restored.log() == Array(store.log().prefix(2)))
                #expect(
                    try restored.run("tray", "ada", "--json").text
                        == store.run("tray", "ada", "--json", "--as-of", "2").text)
                #expect(try restored.run("verify").status == 0)
                #expect(try restored.run("notify", "ada").text == "appended as event 3\n")
            }
            let timed = TestStore(directory: copy.directory + "-timed")
            let asOf = try store.run("tray", "ada", "--as-of", time, "--json").text
            #expect(try timed.run("restore", backup.directory, "--through", time).status == 0)
            #expect(try timed.run("tray", "ada", "--json").text == asOf)
            let empty = TestStore(directory: copy.directory + "-empty")
            #expect(try empty.run("restore", file, "--through", "2001-02-03").text == "restored: 0 events, head 0\n")
            #expect(try empty.run("users").status == 0)
            let whole = TestStore(directory: copy.directory + "-whole")
            #expect(
                try whole.run("restore", "-", "--through", "2999-01-01", input: export).text
                    == "restored: 3 events, head 3\n")
        }
    }

    @Test func aMomentThatARestoreCannotReachIsNamed() throws {
        try withThree { store, copy throws in
            let export = try store.run("export").text
            let late = try copy.run("restore", "-", "--through", "4", input: export)
            #expect(late.status == 65)
            #expect(late.errorText.contains("through: the lines end at event 3, before event 4"), "\(late.errorText)")
            #expect(try copy.run("users").status == 66, "nothing was stored")
            let beyond = try TestStore(directory: copy.directory + "-2").run(
                "restore", store.directory, "--through", "4")
            #expect(beyond.status == 65 && beyond.errorText.contains("before event 4"), "\(beyond.errorText)")
            #expect(try copy.run("restore", "-", "--through", "soon", input: export).status == 64)
            #expect(try copy.run("restore", "-", "--archive", "x", input: export).status == 64)
            #expect(try copy.run("restore", copy.directory + "-none").status == 74)
        }
    }

    @Test func theFirstWrongLineIsNamedAndNothingIsLeftOfIt() throws {
        try withThree { store, copy throws in
            let lines = try store.run("export").lines
            let wrong = "\n" + [lines[0], lines[1].replacing("Two", with: "Too"), lines[2]].joined(separator: "\n")
            let json = try copy.run("restore", "-", "--json", input: wrong)
            #expect(json.status == 65)
            #expect(json.output.isEmpty)
            let report = try JSONValue.object(json.errorText)
            #expect(report["line"] == 3)
            #expect(report["error"] == "invalid")
            #expect(report["message"] == "title: is not what the stored bytes say")
            #expect(!copy.exists)
            let short = try copy.run("restore", "-", input: lines[..<2].joined(separator: "\n"))
            #expect(short.status == 65)
            #expect(short.errorText.hasPrefix("traylog: line 2: "))
            #expect(!copy.exists)
        }
    }

    @Test func aRangeIsExported() throws {
        try withThree { store, _ throws in
            #expect(try store.run("export", "--from", "2", "--to", "2").lines.count == 1)
            #expect(try store.run("export", "--from", "4").text.isEmpty)
        }
    }

    /// The limit on the size of files stands for a full disk.
    @Test func aFullDiskIsNamedAndLeavesNoStore() throws {
        try withThree { store, copy throws in
            let lines = (1...3_000).map {
                #"{"kind":"notify","user":"u\#($0 % 9)","body":"\#(String(repeating: "x", count: 300))"}"#
            }
            try store.append(lines.joined(separator: "\n"))
            let export = store.directory + ".jsonl"
            try store.run("export").output.write(to: URL(filePath: export))
            let program = try #require(TraylogRun.process([]).executableURL?.path)
            for arguments in [
                "--store \(store.directory) backup \(copy.directory)", "--store \(copy.directory) restore \(export)",
            ] {
                let shell = Process()
                shell.executableURL = URL(filePath: "/bin/sh")
                shell.arguments = ["-c", "ulimit -f 300; exec \(program) \(arguments)"]
                let errors = Pipe()
                shell.standardError = errors
                try shell.run()
                let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
                shell.waitUntilExit()
                #expect(shell.terminationReason == .exit && shell.terminationStatus == 74, "\(arguments): \(text)")
                #expect(text.contains("limit"), "\(text)")
                #expect(try [66, 74].contains(copy.run("users").status))
            }
            #expect(try copy.run("restore", export).status == 0)
            #expect(try copy.run("export").output == Data(contentsOf: URL(filePath: export)))
        }
    }
}
