import Foundation
import Testing

/// The words that the program understands, and the messages that tell people how to continue.
struct OperatorMessageTests {
    private func withItems(_ body: (TestStore) throws -> Void) throws {
        try withStore { store in
            for number in 1...6 {
                try store.append(#"{"kind":"notify","user":"ada","key":"k\#(number)","title":"Title \#(number)"}"#)
            }
            try body(store)
        }
    }

    @Test func optionsOfEveryCommandMayStandBeforeIt() throws {
        try withItems { store in
            let options = ["--store", store.directory, "--wait", "5", "--json"]
            #expect(try TraylogRun.of(options + ["see", "ada"]).status == 0)
            let unknown = try TraylogRun.of(["--wait", "5", "trya"]).errorText
            #expect(unknown.contains("Unexpected argument 'trya'"))
        }
    }

    @Test func aRefusedNumberSuggestsTheKeysOption() throws {
        try withItems { store in
            #expect(try store.run("notify", "ada", "--key", "42", "--title", "t").status == 0)
            let run = try store.run("mark", "ada", "read", "42")
            #expect(run.status == 65 && run.errorText.contains("if 42 is its key, add '--keys'"))
            #expect(try store.run("mark", "ada", "read", "42", "--keys").status == 0)
        }
    }

    @Test func aTreeBeyondTheHeadIsRefusedWithItsSize() throws {
        try withItems { store in
            let run = try store.run("prove-consistency", "3", "99")
            #expect(run.status == 65 && run.errorText.contains("size 99 is beyond the head, which is 6"))
        }
    }

    @Test func anAuditSaysThatEventsHaveLeftTheLog() throws {
        try withItems { store in
            let before = try store.run("audit", "ada").text
            #expect(!before.contains("left the log"))
            try store.append(#"{"kind":"mark","user":"ada","as":"deleted","items":[1,2]}"#)
            #expect(try store.run("see", "ada").status == 0)
            #expect(try store.run("compact", "--before", "8", "--yes").status == 0)
            let text = try store.run("audit", "ada").text
            #expect(text.contains("left the log") && text.contains("below the floor, which is 8"), "\(text)")
        }
    }

    @Test(arguments: ["data.mdb", "data-1/data.mdb"])
    func aQueryLeavesNoFileInAForeignDirectory(name: String) throws {
        try withDirectory { directory in
            let file = URL(filePath: directory).appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data("somebody else's".utf8).write(to: file)
            func names() throws -> [String] { try FileManager.default.subpathsOfDirectory(atPath: directory).sorted() }
            let before = try names()
            let status = try TraylogRun.of(["--store", directory, "tray", "ada"]).status
            #expect([66, 74].contains(status))
            #expect(try names() == before)
        }
    }
}
