import Foundation
import Testing

/// `replay`, its options, and what they exclude.
struct ReplayCommandTests {
    /// Six events: ada's 1, 3 and 5, bob's 2, 4 and 6.
    private func withSixEvents(_ body: (TestStore) throws -> Void) throws {
        try withStore { store throws in
            for _ in 0..<3 {
                for user in ["ada", "bob"] { try store.append(#"{"kind":"notify","user":"\#(user)"}"#) }
            }
            try body(store)
        }
    }

    private func replay(_ store: TestStore, _ arguments: [String]) throws -> TraylogRun {
        try TraylogRun.of(["--store", store.directory, "replay"] + arguments)
    }

    @Test(arguments: [
        ([], 6, 2), (["--user", "ada"], 3, 1), (["--user", "ada", "--user", "bob"], 6, 2), (["--user", "cy"], 0, 0),
        (["--as-of", "3"], 3, 2), (["--to", "3"], 3, 2), (["--from", "3"], 4, 2), (["--from", "5", "--to", "5"], 1, 1),
        (["--from", "4", "--as-of", "9999-12-31T23:59:59Z", "--user", "bob"], 2, 1), (["--threads", "1"], 6, 2),
    ])
    func theChosenEventsOfTheChosenUsersAreFolded(arguments: [String], events: Int, users: Int) throws {
        try withSixEvents { store throws in
            let run = try replay(store, arguments + ["--json"])
            #expect(run.status == 0)
            let report = try JSONValue.object(run.text)
            #expect(report["events"]?.number == Double(events))
            #expect(report["users"]?.number == Double(users))
            #expect(report["identical"] == .bool(true))
            #expect(report["difference"] == nil)
        }
    }

    @Test(arguments: [
        ["--to", "3", "--as-of", "3"], ["--from", "4", "--to", "3"], ["--from", "4", "--as-of", "3"],
        ["--threads", "3"], ["--rebuild", "--user", "ada"], ["--rebuild", "--from", "2"], ["--rebuild", "--to", "2"],
        ["--rebuild", "--as-of", "2"], ["--as-of", "yesterday"], ["--from", "x"],
    ])
    func whatContradictsItselfIsAUsageError(arguments: [String]) throws {
        try withSixEvents { store throws in
            #expect(try replay(store, arguments).status == 64)
        }
    }

    @Test func aMomentThatIsNotThereIsRefused() throws {
        try withSixEvents { store throws in
            for option in ["--as-of", "--to"] {
                let run = try replay(store, [option, "7", "--json"])
                #expect(run.status == 65)
                #expect(try run.errors("error") == [.text("upToBeyondHead")])
            }
            let compaction = try TraylogRun.of(["--store", store.directory, "compact", "--before", "5"])
            #expect(compaction.status == 0)
            for arguments in [["--as-of", "4"], ["--to", "2"], ["--from", "5"]] {
                let run = try replay(store, arguments + ["--json"])
                #expect(run.status == 65)
                #expect(try run.errors("error") == [.text("compacted")])
            }
            #expect(try replay(store, ["--from", "6"]).status == 0)
        }
    }
}
