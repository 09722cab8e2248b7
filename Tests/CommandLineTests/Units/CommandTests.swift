import ArgumentParser
import Testing
import Traylog
import TraylogDomain
@testable import traylog_cli

/// Options become the fields of commands.
struct CommandTests {
    private func action(_ arguments: String...) throws -> Command.Action {
        let command = try TraylogCommand.parseAsRoot(["--store", "s"] + arguments)
        return try #require(command as? any Verb).action()
    }

    private func parsed<Parsed: Verb>(_: Parsed.Type, _ arguments: String...) throws -> Parsed {
        try Parsed.parse(["--store", "s"] + arguments)
    }

    @Test func notifyTakesEveryField() throws {
        let expected = Content(
            thread: "t", category: "c", title: "T", body: "B", summaryArgument: "A", summaryCount: 3, isSilent: true,
            level: .critical, expiresAt: Timestamp("2030-01-01T00:00:00Z"), collapseKey: "k", data: "{}")
        let actual = try action(
            "notify", "ada", "--thread", "t", "--category", "c", "--title", "T", "--body", "B", "--summary-argument",
            "A", "--summary-count", "3", "--silent", "--level", "critical", "--expires-at", "2030-01-01T01:00:00+01:00",
            "--collapse-key", "k", "--data", "{}")
        #expect(actual == .notify(expected))
        #expect(try action("notify", "ada") == .notify(Content()))
    }

    @Test func everyVerbIsItsCommand() throws {
        #expect(try action("see", "ada") == .seeTray())
        #expect(try action("see", "ada", "--up-to", "9") == .seeTray(upTo: 9))
        #expect(try action("mark", "ada", "read", "1", "k") == .mark(.read, [.seq(1), .key("k")]))
        #expect(try action("mark", "ada", "restored", "1", "--keys") == .mark(.restored, [.key("1")]))
        #expect(try action("mark-all", "ada", "deleted") == .markAll(.deleted))
        #expect(
            try action("mark-all", "ada", "seen", "--unthreaded", "--category", "c", "--up-to", "4")
                == .markAll(.seen, ItemFilter(thread: .unthreaded, category: "c"), upTo: 4))
        #expect(try action("mute", "ada", "--thread", "t") == .mute(.thread("t")))
        #expect(try action("unmute", "ada", "--category", "c") == .unmute(.category("c")))
        #expect(try action("retract", "ada", "k") == .retract(.key("k")))
    }

    @Test func editKeepsClearsAndSets() throws {
        var expected = ContentEdit()
        expected.title = .set("T")
        expected.level = .set(.passive)
        expected.body = .clear
        expected.data = .clear
        let actual = try action(
            "edit", "ada", "3", "--title", "T", "--level", "passive", "--clear", "body", "--clear", "data")
        #expect(actual == .edit(.seq(3), expected))
    }

    @Test func aBroadcastIsEditedWithoutUser() throws {
        let edit = try parsed(EditCommand.self, "--broadcast", "9", "--title", "T")
        #expect(edit.tray == nil)
        let retract = try parsed(RetractCommand.self, "--broadcast", "9")
        #expect(retract.tray == nil)
        #expect(try retract.action() == .retract(.seq(9)))
    }

    @Test func theOtherVerbsAreReady() throws {
        let until = try #require(Timestamp("2030-01-01T00:00:00Z"))
        let snooze = try parsed(SnoozeCommand.self, "ada", "3", "--until", "2030-01-01T00:00:00Z")
        #expect(try snooze.action() == .snooze(.seq(3), until: until))
        #expect(try parsed(WakeCommand.self, "ada", "3").action() == .wake(.seq(3)))
        #expect(try parsed(SubscribeCommand.self, "ada", "t").action() == .subscribe(topic: "t"))
        #expect(try parsed(UnsubscribeCommand.self, "ada", "t").action() == .unsubscribe(topic: "t"))
        let broadcast = try parsed(BroadcastCommand.self, "t", "--title", "T")
        #expect(try broadcast.action() == .broadcast(topic: "t", Content(title: "T")))
        #expect(try parsed(UndoCommand.self, "ada", "3").action() == .undo(event: 3))
    }

    @Test func theStoreIsNamedBeforeOrAfterTheCommand() throws {
        let lines = ["--store s see ada", "see --store s ada", "see ada --store=s"]
        for arguments in lines.map({ $0.split(separator: " ").map(String.init) }) {
            let command = try TraylogCommand.parseAsRoot(arguments)
            #expect((command as? any StoreCommand)?.global.store == "s")
        }
    }

    @Test(arguments: [
        ["mute", "ada"], ["mute", "ada", "--thread", "t", "--category", "c"], ["mark", "ada", "red", "1"],
        ["mark-all", "ada", "unread"], ["mark-all", "ada", "read", "--thread", "t", "--unthreaded"],
        ["edit", "ada"], ["edit", "ada", "3", "--broadcast"], ["edit", "ada", "3", "--title", "T", "--clear", "title"],
        ["inbox", "ada", "--archived", "--snoozed"], ["inbox", "ada", "--cursor", "nonsense"],
        ["notify", "ada", "--expires-at", "tomorrow"], ["notify"], ["notify", "ada", "--level", "loud"],
        ["log", "--kind", "nonsense"], ["no-such-command"],
    ])
    func nonsenseIsUsage(arguments: [String]) {
        let error = #expect(throws: (any Error).self) {
            _ = try TraylogCommand.parseAsRoot(["--store", "s"] + arguments)
        }
        #expect(error.map { TraylogCommand.exitCode(for: $0).rawValue } == 64)
    }

    @Test func everyCommandHasExamples() {
        let groups = TraylogCommand.configuration.groupedSubcommands.flatMap(\.subcommands)
        #expect(!groups.isEmpty)
        for command in groups {
            let name = command.configuration.commandName ?? ""
            #expect(command.configuration.discussion.contains("EXAMPLES\n  traylog \(name)"), "\(name)")
        }
    }
}
