import Foundation
import Testing

/// Programs that follow a store: they show other programs' events, and end on request.
@Suite
struct FollowingTests {
    private func withTray(_ body: (TestStore) throws -> Void) throws {
        try withStore { store in
            try store.append(#"{"kind":"notify","user":"ada","title":"One"}"#)
            try body(store)
        }
    }

    private func start(_ store: TestStore, _ arguments: String...) throws -> Conversation {
        try Conversation(["--store", store.directory] + arguments)
    }

    @Test func watchPrintsTheTrayAndEachChange() throws {
        try withTray { store in
            let watch = try start(store, "watch", "ada", "--json")
            #expect(try watch.hear() == store.run("tray", "ada", "--json").lines.first)
            try store.append(#"{"kind":"notify","user":"bob"}"#)
            try store.append(#"{"kind":"seeTray","user":"ada"}"#)
            #expect(try watch.hear() == store.run("tray", "ada", "--json").lines.first)
            watch.interrupt()
            #expect(try watch.hear() == nil)
            #expect(watch.waitForEnd() == 0)
        }
    }

    @Test func watchHasALineForPeople() throws {
        try withTray { store in
            let watch = try start(store, "watch", "ada")
            #expect(try watch.hear()?.contains("UNREAD") == true)
            #expect(try watch.hear()?.contains("● 1 unseen") == true)
            try store.append(#"{"kind":"seeTray","user":"ada"}"#)
            #expect(try watch.hear()?.contains("everything seen") == true)
            watch.terminate()
            #expect(watch.waitForEnd() == 0)
        }
    }

    @Test func followGoesOnAfterTheLog() throws {
        try withTray { store in
            let log = try start(store, "log", "--follow", "--json")
            #expect(try log.hear() == store.run("log", "--json").lines.last)
            for user in ["bob", "cy"] {
                try store.append(#"{"kind":"notify","user":"\#(user)"}"#)
                #expect(try log.hear() == store.run("log", "--json").lines.last)
            }
            log.terminate()
            #expect(try log.hear() == nil)
            #expect(log.waitForEnd() == 0)
        }
    }

    @Test func followSelectsUserKindAndStart() throws {
        try withTray { store in
            let log = try start(
                store, "log", "--follow", "--json", "--user", "ada", "--kind", "notified", "--from", "2")
            try store.append(
                #"{"kind":"notify","user":"bob"}"#, #"{"kind":"seeTray","user":"ada"}"#,
                #"{"kind":"notify","user":"ada","title":"Two"}"#)
            #expect(try log.hear()?.contains(#""seq":4"#) == true)
            log.interrupt()
            #expect(log.waitForEnd() == 0)
        }
    }

    @Test func followHasRoomForLongerLines() throws {
        try withTray { store in
            let log = try start(store, "log", "--follow")
            _ = (try log.hear(), try log.hear())
            try store.append(#"{"kind":"notify","user":"ada-lovelace","title":"A longer title"}"#)
            let line = try #require(try log.hear())
            #expect(line.contains("ada-lovelace") && line.contains("A longer title"))
            log.interrupt()
            #expect(log.waitForEnd() == 0)
        }
    }

    @Test(arguments: [["watch", "ada"], ["log", "--follow"]])
    func watchAndFollowEndWhenTheirReaderCloses(arguments: [String]) throws {
        try withTray { store in
            let program = try Conversation(["--store", store.directory] + arguments)
            #expect(try program.hear() != nil)
            try program.hangUp()
            // Like any program in a pipe, even without output.
            #expect(program.waitForEnd() == SIGPIPE)
        }
    }

    @Test(arguments: [["watch", "ada"], ["log", "--follow"]])
    func aPageThatCannotBeReadEndsThemAsDamageDoes(arguments: [String]) throws {
        try withTray { store in
            let program = try Conversation(["--store", store.directory] + arguments)
            #expect(try program.hear() != nil)
            kill(program.processID, SIGBUS)
            #expect(program.waitForEnd() == 74)
        }
    }

    @Test func followHasNoEnd() throws {
        try withTray { store in
            let run = try store.run("log", "--follow", "--to", "3")
            #expect(run.status == 64)
        }
    }

    @Test func watchRefusesAnInvalidName() throws {
        try withTray { store in
            let run = try store.run("watch", "")
            #expect(run.status == 65)
            #expect(run.output.isEmpty)
        }
    }
}
