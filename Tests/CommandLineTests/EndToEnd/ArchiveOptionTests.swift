import Foundation
import TestSupport
import Testing
import TraylogArchive

/// `--archive`, through the program.
struct ArchiveOptionTests {
    /// Lends a store whose events 1, 2 and 4 are only in archives, with the original log.
    private func withArchived(_ body: (TestStore, _ archives: String, _ export: String) throws -> Void) throws {
        try withStore { store in
            try store.append(
                #"{"kind":"notify","user":"ada","title":"One"}"#, #"{"kind":"notify","user":"bob","title":"Two"}"#,
                #"{"kind":"broadcast","topic":"t","title":"Three"}"#, #"{"kind":"seeTray","user":"ada"}"#,
                #"{"kind":"notify","user":"ada","title":"Five"}"#)
            let export = try store.run("export").text
            let archives = store.directory + "-archives"
            try HandMadeArchive.write([1, 2], of: store.directory, to: archives, drops: true)
            try HandMadeArchive.write([4], of: store.directory, to: archives, drops: true)
            try body(store, archives, export)
        }
    }

    @Test func historyAndLogShowArchivedEvents() throws {
        try withArchived { store, archives, _ throws in
            let log = try store.run("log", "--json", "--archive", archives)
            #expect(try log.outputs("seq") == [1, 2, 3, 4, 5], "\(log.errorText)")
            #expect(try store.run("log", "--archive", archives, "--from", "2", "--to", "4").lines.count == 4)
            #expect(try store.run("log", "--json", "--archive", archives, "--user", "bob").outputs("title") == ["Two"])
            #expect(
                try store.run("log", "--json", "--archive", archives, "--kind", "traySeen").outputs("seq") == [4])
            let history = try store.run("history", "ada", "--json", "--archive", archives)
            #expect(try history.outputs("seq") == [1, 4, 5])
            #expect(try store.run("history", "nobody", "--archive", archives).status == 0)
        }
    }

    @Test func anExportWithArchivesRestoresTheWholeLog() throws {
        try withArchived { store, archives, export throws in
            let whole = try store.run("export", "--archive", archives)
            #expect(whole.status == 0 && whole.text == export, "\(whole.errorText)")
            let copy = TestStore(directory: store.directory + "-copy")
            #expect(try copy.run("restore", "-", input: whole.text).status == 0)
            #expect(try copy.run("export").text == export)
            #expect(try copy.run("verify").status == 0)
        }
    }

    @Test func verifyChecksArchives() throws {
        try withStore { store in
            try store.append(#"{"kind":"notify","user":"ada"}"#, #"{"kind":"seeTray","user":"ada"}"#)
            let archives = store.directory + "-archives"
            let name = try HandMadeArchive.write([1], of: store.directory, to: archives)
            #expect(try store.run("verify", "--archive", archives).text.hasSuffix(", 1 event in archives\n"))
            #expect(try store.run("verify", "--json", "--archive", archives).outputs("archivedEvents") == [1])
            let file = URL(filePath: archives + "/" + name)
            try Data(contentsOf: file).dropLast(9).write(to: file)
            let run = try store.run("verify", "--archive", archives)
            #expect(run.status == 1)
            #expect(run.text.contains(name) && run.text.contains("the end of the archive is missing"))
        }
    }

    @Test func anUnsuitableArchiveIsNamed() throws {
        try withArchived { store, archives, _ throws in
            for verb in [["log"], ["history", "ada"], ["export"], ["verify"]] {
                func run(_ directory: String) throws -> TraylogRun {
                    try TraylogRun.of(["--store", store.directory] + verb + ["--archive", directory])
                }
                let missing = try run(archives + "/none")
                #expect(missing.status == 66 || verb == ["verify"], "\(verb): \(missing)")
                #expect(verb == ["verify"] || missing.errorText.contains(archives + "/none"))
                #expect(try TraylogRun.of(["--store", store.directory] + verb + ["--archive"]).status == 64)
            }
            let other = try HandMadeArchive.write(
                [3], of: store.directory, to: archives, identity: StoreIdentity(5, 5))
            let foreign = try store.run("log", "--archive", archives)
            #expect(foreign.status == 74 && foreign.errorText.contains(other), "\(foreign.errorText)")
        }
    }
}
