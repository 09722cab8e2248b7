import TestSupport
import Testing
import TraylogLMDB

@_spi(Internals) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogQueries
@testable import TraylogStates

/// Trays of subscribers to whom broadcasts are added as a whole, beside trays to which they are folded in one by one.
@Suite struct TopicStretchTests {
    /// A reader stays open beside one writer after another, so that it sees broadcasts in states and in the log's tail.
    @Test(arguments: seeds(2, nightly: 300))
    func traysWithAddedBroadcastsEqualAFold(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let users = ["ann", "bob", "cid", "dora"]
        try withStorePath { path in
            try withStore(path) { store in
                _ = try store.perform(users.map { command($0, .subscribe(topic: "news")) })
            }
            let reader = try StoreReader.open(path)
            defer { reader.close() }
            for round in 0..<6 {
                let writer = try AppendingProcess(store: path)
                for _ in 0..<2 {
                    let commands = (0..<12).map { _ in next(&random, users) }
                    for command in commands { try writer.say(command.jsonLine + "\n") }
                    for _ in commands { _ = try #require(writer.hear()) }
                    try expectFoldedTrays(of: users, in: reader, "seed \(seed), round \(round)")
                }
                #expect(try writer.finish() == 0)
                _ = try TraylogProgram(store: path).object("tick", "--now", "\(Timestamp.at(Int64(round)))", "--json")
                try expectFoldedTrays(of: users, in: reader, "seed \(seed), round \(round)")
            }
        }
    }

    @Test func aReaderKeepsABoundedNumberOfEventsOfTopics() throws {
        try withStorePath { path in
            let store = try Store.open(path, options: options(isRelaxed: true))
            let topics = (0..<40).map { "t\($0)" }
            _ = try store.perform(topics.map { command("ann", .subscribe(topic: $0)) })
            store.close()
            let writer = try AppendingProcess(store: path)
            for topic in topics {
                for _ in 0..<5 {
                    try writer.say(command(nil, .broadcast(topic: topic, Content(title: "All"))).jsonLine + "\n")
                    _ = try #require(writer.hear())
                }
            }
            let environment = try Environment.open(directory: path, access: .readOnly, databases: Tables.allNames)
            defer { environment.close() }
            let source = FileSource(directory: path, environment: environment, tables: Tables(environment))
            let stretches = TopicStretches(seqsAtMost: 50)
            let tray = try source.readTail { try $0.tray(of: "ann", stretches) }
            #expect(tray.total == 200)
            #expect(stretches.folded > 0 && stretches.keptSeqs <= 50)
            #expect(try writer.finish() == 0)
        }
    }

    private func expectFoldedTrays(of users: [String], in reader: StoreReader, _ comment: Comment) throws {
        // A query of the past folds everything.
        let head = Moment.seq(try reader.head())
        for user in users { #expect(try reader.tray(of: user) == reader.tray(of: user, asOf: head), comment) }
    }

    private func next(_ random: inout SeededRandom, _ users: [String]) -> Command {
        let user = random.pick(users)
        let topic = random.pick(["news", "offers"])
        let item = ItemReference.seq(Seq(UInt64(random.between(1, 100))))
        var content = Content(title: "One")
        content.category = random.pick(["message", "offer", nil])
        content.thread = random.pick(["t", nil])
        content.isSilent = random.chance(15)
        content.expiresAt = random.chance(15) ? .at(Int64(random.below(6))) : nil
        return random.pick(weighted: [
            (command(nil, .broadcast(topic: topic, content)), 60),
            (command(nil, .retract(item)), 8),
            (command(nil, .edit(item, title("Two"))), 5),
            (command(user, .notify(content)), 8),
            (command(user, .seeTray()), 5),
            (command(user, .mark(.read, [item])), 5),
            (command(user, .subscribe(topic: topic)), 4),
            (command(user, .unsubscribe(topic: topic)), 3),
            (command(user, .mute(.category("offer"))), 1),
        ])
    }

    @Test func aBroadcastIsFoldedOnceForAllItsSubscribers() throws {
        try withStorePath { path in
            let users = (0..<200).map { "user\($0)" }
            try withStore(path, options(isRelaxed: true)) { store in
                _ = try store.perform(users.map { command($0, .subscribe(topic: "news")) })
                _ = try store.perform(
                    (0..<500).map { _ in command(nil, .broadcast(topic: "news", Content(title: "One"))) })
            }
            try withReader(path) { reader in
                for user in users { #expect(try reader.tray(of: user).unseen == 500) }
                let source = try #require(reader.queries.source as? FileSource)
                #expect(source.topicStretches.folded == 500)
            }
        }
    }
}
