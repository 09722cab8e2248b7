import Testing
import TestSupport
import Traylog
import TraylogDomain

/// The program's output about projections that other programs stored.
struct ProjectionListTests {
    private func withProjections(_ body: (TestStore) throws -> Void) throws {
        try withStore { test in
            let store = try Store.open(test.directory)
            defer { store.close() }
            for title in ["One", "Two"] { _ = try store.perform(Command(user: "ada", .notify(Content(title: title)))) }
            let digest = try store.project(MainDigest.self)
            _ = try digest.value()
            digest.stop()
            _ = try store.perform(Command(user: "ada", .notify(Content(title: "Three"))))
            _ = try store.project(SecondDigest.self).value()
            store.close()
            try body(test)
        }
    }

    @Test func statsListsStoredProjections() throws {
        try withProjections { store throws in
            let statistics = try JSONValue.object(store.run("stats", "--json").text)
            #expect(
                statistics["projections"]
                    == .array([
                        .object(["name": "digest", "version": 1, "position": 2, "bytes": 24]),
                        .object(["name": "Ωther", "version": 7, "position": 3, "bytes": 24]),
                    ]))
            let text = try store.run("stats").text
            #expect(text.contains("PROJECTION"))
            #expect(text.contains("digest") && text.contains("Ωther"))
        }
    }

    @Test func aSoundStoreWithProjectionsIsSound() throws {
        try withProjections { store throws in
            #expect(try store.run("verify").status == 0)
            #expect(try store.run("replay").status == 0)
            #expect(try store.run("replay", "--rebuild").status == 0)
            #expect(try store.run("verify").status == 0)
        }
    }
}
