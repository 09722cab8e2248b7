@_spi(Operations) import TraylogChecks
import TestSupport
import Testing
import TraylogDomain
import TraylogLMDB

@_spi(Internals) @_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogQueries
@testable import TraylogWriter

/// What a query takes: one read transaction, and in the process that writes one turn of the store's lock.
@Suite struct SnapshotTests {
    private struct Query: Sendable {
        let name: String
        /// Whether the answer is right.
        let ask: @Sendable (any BlockingQueries, _ user: String) throws -> Bool

        init(_ name: String, _ ask: @escaping @Sendable (any BlockingQueries, _ user: String) throws -> Bool) {
            (self.name, self.ask) = (name, ask)
        }
    }

    /// Those of one user or of the whole store, of now and of the past.
    private static let queries = [
        Query("tray") { try $0.tray(of: $1).total > 10 },
        Query("tray of a stranger") { store, _ in try store.tray(of: "nobody").total == 0 },
        Query("inbox") { try $0.inbox(of: $1).elements.count > 10 },
        Query("threads") { try $0.threads(of: $1).elements.count > 3 },
        Query("history") { try $0.history(of: $1, limit: .max).elements.count == 12 },
        Query("tray as of an event") { try $0.tray(of: $1, asOf: .seq(150)).asOf == 150 },
        Query("inbox as of a time") {
            try $0.inbox(of: $1, asOf: .time(Timestamp(milliseconds: .max))).elements.count > 10
        },
        Query("threads as of an event") { try $0.threads(of: $1, asOf: .seq(150)).elements.count > 3 },
        Query("difference") { try !$0.difference(of: $1, from: .seq(100)).items.isEmpty },
        Query("events") { store, _ in try store.events(limit: 20).elements.count == 20 },
        Query("users") { store, _ in try store.users(limit: .max).elements.count >= 20 },
        Query("seq of a time") { store, _ in try store.seq(of: .time(Timestamp(milliseconds: 0))) == 0 },
    ]

    private static func commands() -> [Command] {
        let users = (0..<20).map { "user\($0)" }
        var commands = users.map { command($0, .subscribe(topic: "news")) }
        for round in 0..<10 {
            commands += users.map { user in
                command(user, .notify(Content(thread: "t\(round)", category: "c\(round % 3)", title: "Hi")))
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
                    // The query must find everything that the writer appended or stored since the last one.
                    try say([notify("late\(index)")])
                    let before = environment.begunReads
                    #expect(try query.ask(reader, "user\(index)"), "\(query.name)")
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
                func turns() -> Int { source.memory.withLock { $0.sections } }
                for query in Self.queries {
                    // Nobody was asked for before, so that each state is loaded. Now and then the writer looks, too.
                    var counts: [(turns: Int, reads: Int)] = []
                    for user in 0..<20 {
                        let before = (turns: turns(), reads: source.environment.begunReads)
                        let isRight = try query.ask(store, "user\(user)")
                        #expect(isRight, "\(query.name)")
                        counts.append((turns() - before.turns - 1, source.environment.begunReads - before.reads))
                    }
                    #expect(counts.map(\.turns).min() == 1, "\(query.name)")
                    #expect(counts.map(\.reads).min() == 1, "\(query.name)")
                }
            }
        }
    }
}
