import Foundation
import Testing

/// `traylog erase`.
struct EraseCommandTests {
    private func withFilled(_ body: (TestStore) throws -> Void) throws {
        try withStore { store in
            try store.append(
                #"{"kind":"notify","user":"zq-ada-zq","title":"zq-title-zq","key":"zq-key-zq"}"#,
                #"{"kind":"notify","user":"bob","title":"Two"}"#, #"{"kind":"markAll","user":"zq-ada-zq","as":"read"}"#,
                #"{"kind":"notify","user":"zq-ada-zq","title":"zq-title-zq"}"#,
                #"{"kind":"notify","user":"bob","title":"Five"}"#)
            try body(store)
        }
    }

    private func leaks(_ directory: String) throws -> [String] {
        let files = try #require(FileManager.default.enumerator(atPath: directory)).compactMap { $0 as? String }
        return files.filter { file in
            let data = FileManager.default.contents(atPath: directory + "/" + file)
            return data?.range(of: Data("zq-".utf8)) != nil
        }
    }

    @Test func eraseRequiresYes() throws {
        try withFilled { store in
            let export = try store.run("export").text
            let run = try store.run("erase", "zq-ada-zq")
            #expect(run.status == 64 && run.errorText.contains("--yes"))
            #expect(try store.run("export").text == export)
            #expect(try store.run("erase", "--yes").status == 64)
            #expect(try TestStore(directory: store.directory + "-none").run("erase", "ada", "--yes").status == 66)
        }
    }

    @Test func erasedTextIsLeftInNoFile() throws {
        try withFilled { store in
            let archive = store.directory + "-archive"
            #expect(try store.run("compact", "--before", "4", "--archive", archive).status == 0)
            #expect(try !leaks(store.directory).isEmpty && !leaks(archive).isEmpty)
            let run = try store.run("erase", "zq-ada-zq", "--yes", "--actor", "dpo")
            #expect(run.status == 0, "\(run.errorText)")
            #expect(run.text.contains("event 7") && run.text.contains("archive rewritten"), "\(run.text)")
            #expect(run.text.contains("not reached: backups, exports, and copies of archives"))
            #expect(try leaks(store.directory) == [])
            #expect(try leaks(archive) == [])
            #expect(try store.run("users").lines.count { $0.contains("bob") } == 1)
            #expect(try store.run("users").text.contains("zq-") == false)
            #expect(try store.run("log", "--json", "--archive", archive).outputs("seq") == [1, 2, 3, 4, 5, 6, 7])
            #expect(try store.run("verify", "--archive", archive).status == 0)
            #expect(try store.run("replay").status == 0)
            #expect(try store.run("inbox", "bob", "--json").lines.count == 1)
            #expect(try store.run("tray", "zq-ada-zq", "--json").outputs("total") == [0])
            #expect(try leaks(store.directory) == [])
        }
    }

    @Test func jsonSaysWhatItDid() throws {
        try withFilled { store in
            let run = try store.run("erase", "zq-ada-zq", "--yes", "--json")
            #expect(try run.outputs("result") == ["appended"] && run.outputs("seq") == [6])
            #expect(try run.outputs("pseudonym") == ["erased-1"] && run.outputs("events") == [3])
            #expect(try store.run("history", "erased-1", "--json").outputs("seq") == [1, 3, 4, 6])
            let again = try store.run("erase", "zq-ada-zq", "--yes", "--json")
            #expect(again.status == 0)
            #expect(try again.outputs("result") == ["unchanged"] && again.outputs("seq") == [nil])
        }
    }

    @Test func anUnknownUserChangesNothing() throws {
        try withFilled { store in
            let export = try store.run("export").text
            let run = try store.run("erase", "nobody", "--yes")
            #expect(run.status == 0 && run.text == "unchanged: no user has that name\n")
            #expect(try store.run("erase", "", "--yes").status == 65)
            #expect(try store.run("export").text == export)
        }
    }

    @Test func anArchiveThatWasMovedMustBeNamed() throws {
        try withFilled { store in
            let (archive, moved) = (store.directory + "-archive", store.directory + "-moved")
            #expect(try store.run("compact", "--before", "4", "--archive", archive).status == 0)
            try FileManager.default.moveItem(atPath: archive, toPath: moved)
            let export = try store.run("export").text
            let run = try store.run("erase", "zq-ada-zq", "--yes")
            #expect(run.status == 66 && run.errorText.contains(archive), "\(run.status) \(run.errorText)")
            #expect(try store.run("export").text == export)
            #expect(try store.run("erase", "zq-ada-zq", "--yes", "--archive", moved).status == 0)
            #expect(try leaks(moved) == [])
            #expect(try leaks(store.directory) == [])
        }
    }
}
