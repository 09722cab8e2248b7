import TestSupport
import Testing
import TraylogDomain
import TraylogLMDB

@testable import Traylog

/// What a query takes: one read transaction, and in the process that writes one turn of the store's lock.
@Suite struct SnapshotTests {
    private typealias Query = (name: String, ask: (any TrayQueries, _ user: String) throws -> Void)

    /// Those of one user or of the whole store, of now and of the past.
    private static let queries: [Query] = [
        ("tray", { _ = try $0.tray(of: $1) }),
        ("tray of a stranger", { store, _ in _ = try store.tray(of: "nobody") }),
        ("inbox", { #expect(try $0.inbox(of: $1).items.count > 10) }),
        ("threads", { #expect(try $0.threads(of: $1).threads.count > 3) }),
        ("history", { #expect(try $0.history(of: $1).count == 12) }),
        ("tray as of an event", { #expect(try $0.tray(of: $1, asOf: .seq(150)).asOf == 150) }),
        ("inbox as of a time", { _ = try $0.inbox(of: $1, asOf: .time(Timestamp(milliseconds: .max))) }),
        ("threads as of an event", { _ = try $0.threads(of: $1, asOf: .seq(150)) }),
        ("difference", { _ = try $0.difference(of: $1, from: .seq(100)) }),
        ("events", { store, _ in #expect(try store.events(limit: 20).count == 20) }),
        ("users", { store, _ in #expect(try store.users().count >= 20) }),
        ("seq of a time", { store, _ in _ = try store.seq(of: .time(Timestamp(milliseconds: 0))) }),
    ]

    private static func commands() -> [Command] {
        let users = (0..<20).map { "user\($0)" }
        var commands = users.map { command($0, .subscribe(topic: "news")) }
        for round in 0..<10 {
            commands += users.map { user in
                command(user, .notify(Content(title: "Hi", thread: "t\(round)", category: "c\(round % 3)")))
            }
            commands.append(command(nil, .broadcast(topic: "news", Content(title: "News"))))
        }
        return commands + users.map { command($0, .seeTray()) }
    }

    @Test func aQueryInAnotherProcessBeginsOneTransaction() throws {
        try withStorePath { path in
            let writer = try AppendingProcess(store: path)
            defer { writer.kill() }
            func say(_ commands: [Command]) throws {
                for command in commands { try writer.say(command.jsonLine + "\n") }
                for _ in commands { #expect(writer.hear()?.contains("appended") == true) }
            }
            try say(Self.commands())
            try withReader(path) { reader in
                let environment = reader.queries.source.environment
                for (index, query) in Self.queries.enumerated() {
                    // What the writer appended or stored since the last query is the query's to find.
                    try say([command("late\(index)", .seeTray())])
                    let before = environment.begunReads
                    try query.ask(reader, "user\(index)")
                    #expect(environment.begunReads - before == 1, "\(query.name)")
                }
            }
        }
    }

    @Test func aQueryInTheWritingProcessTakesTheLockOnce() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { _ = try $0.perform(Self.commands()) }
            try withStore(path, options(isRelaxed: true)) { store in
                let source = try #require(store.queries.source as? LiveSource)
                func turns() -> Int { source.shared.withLock { $0.turns } }
                for query in Self.queries {
                    // Nobody was asked for before, so that each state is loaded. Now and then the writer looks, too.
                    let counts = try (0..<20).map { user in
                        let before = (turns(), source.environment.begunReads)
                        try query.ask(store, "user\(user)")
                        return (turns: turns() - before.0 - 1, reads: source.environment.begunReads - before.1)
                    }
                    #expect(counts.map(\.turns).min() == 1, "\(query.name)")
                    #expect(counts.map(\.reads).min() == 1, "\(query.name)")
                }
            }
        }
    }
}
