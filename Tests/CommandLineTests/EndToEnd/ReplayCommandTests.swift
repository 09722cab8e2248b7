import Foundation
import Testing

/// `replay` and its options.
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

    @Test(arguments: [[], ["--rebuild"]])
    func everyEventOfEveryUserIsFolded(arguments: [String]) throws {
        try withSixEvents { store throws in
            let run = try replay(store, arguments + ["--json"])
            #expect(run.status == 0)
            let report = try JSONValue.object(run.text)
            #expect(report["events"]?.number == 6)
            #expect(report["users"]?.number == 2)
            #expect(report["identical"] == .bool(true))
            #expect(report["difference"] == nil)
        }
    }

    @Test func theLogIsFoldedThroughAMoment() throws {
        try withSixEvents { store throws in
            for moment in ["4", "2999-01-01T00:00:00Z"] {
                let run = try replay(store, ["--as-of", moment, "--json"])
                #expect(run.status == 0)
                #expect(try JSONValue.object(run.text)["events"]?.number == (moment == "4" ? 4 : 6))
            }
            #expect(try replay(store, ["--as-of", "7"]).status == 65)
            #expect(try replay(store, ["--as-of", "2", "--rebuild"]).status == 64)
        }
    }

    @Test(arguments: [["--threads", "1"], ["--user", "ada"]])
    func anUnknownChoiceIsAUsageError(arguments: [String]) throws {
        try withSixEvents { store throws in
            #expect(try replay(store, arguments).status == 64)
        }
    }
}
