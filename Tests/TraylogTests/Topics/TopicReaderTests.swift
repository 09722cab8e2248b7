import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogQueries

/// What other processes see of broadcasts that the writing one has not stored in any state.
@Suite struct TopicReaderTests {
    @Test func anotherProcessSeesBroadcastsThatAreInTheLogAlone() throws {
        // An idle writer flushes; one that did so before it was looked at is tried again.
        for _ in 0..<20 where try lookBesideAWriter() { return }
        Issue.record("every writer had flushed before anybody looked")
    }

    /// - Returns: whether the writer had stored nothing by then.
    private func lookBesideAWriter() throws -> Bool {
        try withStorePath { path in
            let writer = try AppendingProcess(store: path)
            try expectAppended(writer, [command("ann", .subscribe(topic: "news")), notify("ann")])
            let reader = try StoreReader.open(path)
            defer { reader.close() }
            let bob = command("bob", .subscribe(topic: "news"))
            try expectAppended(writer, [shout("One"), shout("Two"), bob, shout("Three")])
            #expect(try reader.inbox(of: "ann").elements.map(\.seq) == [6, 4, 3, 2])
            #expect(try reader.inbox(of: "bob").elements.map(\.seq) == [6])
            #expect(try reader.inbox(of: "ann", asOf: .seq(3)).elements.map(\.seq) == [3, 2])
            let unflushed = try reader.statistics().unflushed
            try expectAppended(
                writer, [command(nil, .edit(.seq(3), title("New"))), command(nil, .retract(.seq(4))), shout("Four")])
            #expect(try reader.inbox(of: "ann").elements.map(\.content.title) == ["Four", "Three", "New", "Hi"])
            #expect(try reader.tray(of: "ann").unread == 4)
            #expect(try reader.inbox(of: "bob").elements.map(\.seq) == [9, 6])
            #expect(try writer.finish() == 0)
            #expect(try reader.inbox(of: "ann").elements.map(\.content.title) == ["Four", "Three", "New", "Hi"])
            return unflushed == 6
        }
    }

    private func shout(_ title: String) -> Command { command(nil, .broadcast(topic: "news", Content(title: title))) }

    private func expectAppended(_ writer: AppendingProcess, _ commands: [Command]) throws {
        for command in commands { try writer.say(command.jsonLine + "\n") }
        for _ in commands {
            let answer = try #require(writer.hear())
            #expect(answer.contains(#""result":"appended""#), "\(answer)")
        }
    }
}
