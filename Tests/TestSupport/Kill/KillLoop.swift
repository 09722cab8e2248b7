import Foundation
@_spi(Operations) import Traylog
import TraylogDomain

/// One store that grows while its writer is killed again and again, and the naive model of what it must hold.
///
/// The writer performs the commands in the order in which it gets them. So whenever it dies, the log must equal the
/// naive model's log after a prefix of the commands, and that prefix must include every command it answered.
package struct KillLoop {
    /// A command that the writer was given since the last kill.
    private struct Sent {
        var command: Command
        var now: Timestamp
        var expected: Result<Receipt, Refusal>
    }

    package let seed: UInt64
    package let directory: String
    package var random: SeededRandom
    package private(set) var round = 0
    /// What the store held after the last kill.
    package private(set) var base = NaiveStore()
    /// The same with every command sent since.
    private var ahead = NaiveStore()
    private var sent: [Sent] = []
    /// How many of the sent commands were answered.
    package private(set) var answered = 0
    /// Keyed commands that were unanswered at the last kill.
    private var unanswered: [Command] = []
    private var generator: HistoryGenerator

    package init(seed: UInt64, directory: String) {
        self.seed = seed
        self.directory = directory
        random = SeededRandom(seed: ~seed)
        var mix = HistoryMix.typical
        mix.users = 12
        generator = HistoryGenerator(seed: seed, mix: mix.with([.snoozes, .topics, .undo]))
    }

    package var pending: Int { sent.count - answered }

    package mutating func beginRound() {
        round += 1
    }

    /// The next command as a line: first the repetition of unanswered ones, then new ones.
    package mutating func nextLine() -> String {
        let command: Command
        if unanswered.isEmpty {
            guard case .command(let fresh) = generator.next(given: ahead) else {
                preconditionFailure("these histories have no ticks")
            }
            command = fresh.withoutSpaceAroundData
        } else {
            command = unanswered.removeFirst()
        }
        let expected = ahead.perform(command, now: generator.now)
        sent.append(Sent(command: command, now: generator.now, expected: expected))
        return command.jsonLine + "\n"
    }

    /// Takes the writer's next answer, which must be the model's.
    package mutating func hear(_ line: String) throws {
        guard let found = try? Acknowledgement(line), answered < sent.count else {
            throw Difference(path: [label], expected: "an answer", found: line)
        }
        let expected = Acknowledgement(line: answered + 1, sent[answered].expected)
        try within("\(label), \(sent[answered].command)") { try expectSame(expected, found, "answer") }
        answered += 1
    }

    /// Compares the store that a killed writer left with the model.
    package mutating func check() throws {
        let head = try within(label) { try checkStore() }
        unanswered = sent[answered...].map(\.command).filter { $0.key != nil }
        base = try stored(through: head)
        ahead = base
        sent = []
        answered = 0
    }

    private var label: String { "seed \(seed), round \(round)" }

    /// The model after the first commands that make a log of that length.
    private func stored(through head: Seq) throws -> NaiveStore {
        var naive = base
        for (index, one) in sent.enumerated() {
            if index >= answered, naive.head >= head { break }
            _ = naive.perform(one.command, now: one.now)
        }
        guard naive.head <= head else { throw LostEvents(acknowledged: naive.head.rawValue, found: head.rawValue) }
        guard naive.head == head else {
            let bounds = "what was answered, and no more than what was sent (\(naive.head) events)"
            throw Difference(path: [label, "head"], expected: bounds, found: "\(head)")
        }
        return naive
    }

    private mutating func checkStore() throws -> Seq {
        guard let store = try openedStore() else { return .zero }
        let head = try within("before closing") { () throws -> Seq in
            defer { store.close() }
            let naive = try stored(through: try store.head())
            var comparison = try Comparison(store, naive, seed: random.next())
            try comparison.check(users: naive.users() + ["nobody"], depth: .sample(3))
            return naive.head
        }
        let replay = try Replay.run(directory: directory) { _, _ in }
        try expectSame(nil, replay.difference, "replay")
        try expectSame(head.rawValue, replay.events, "replayed events")
        try expectSame([], try Verification.run(directory: directory) { _, _ in }.findings, "findings")
        return head
    }

    /// A reader leaves the tail as it is for the next round; a store brings its states up to it.
    ///
    /// - Returns: nil when the writer died before it had made a store.
    private mutating func openedStore() throws -> (any AnswersQueries & Closing)? {
        let choice = random.below(4)
        do throws(TraylogError) {
            if choice == 0 { return try Store.open(directory, options: .tiny(tailEvents: 8, isRelaxed: false)) }
            if choice == 1 { return try Store.open(directory, options: .tiny(tailEvents: 800_000, isRelaxed: false)) }
            return try StoreReader.open(directory)
        } catch {
            guard case .failed(let failure) = error, failure.code == .notFound, base.head == 0 else { throw error }
            return nil
        }
    }
}

extension StoreOptions {
    /// So little memory that every few commands are flushed and every state is evicted.
    package static func tiny(tailEvents: Int = 8, isRelaxed: Bool = true) -> StoreOptions {
        var options = StoreOptions()
        options.ticking = .manual
        options.tailEvents = tailEvents
        options.cacheBytes = 4_096
        options.landmarkDistance = 5
        options.pagesAtOnce = 1
        options.journalBytes = 128 << 10
        if isRelaxed { options.durability = .relaxed }
        return options
    }
}

/// The common interface of a store and a reader beyond the queries.
package protocol Closing {
    func close()
}

extension Closing {
    /// Lends what was opened, and closes it.
    package func closing<Result>(_ body: (Self) throws -> Result) rethrows -> Result {
        defer { close() }
        return try body(self)
    }
}

extension Store: Closing {}
extension StoreReader: Closing {}

extension Command {
    /// In a line, spaces around `data` are the line's.
    fileprivate var withoutSpaceAroundData: Command {
        var command = self
        switch action {
        case .notify(var content):
            content.data = content.data?.trimmingCharacters(in: .whitespaces)
            command.action = .notify(content)
        case .broadcast(let topic, var content):
            content.data = content.data?.trimmingCharacters(in: .whitespaces)
            command.action = .broadcast(topic: topic, content)
        case .edit(let item, var edit):
            if case .set(let data) = edit.data { edit.data = .set(data.trimmingCharacters(in: .whitespaces)) }
            command.action = .edit(item, edit)
        default: break
        }
        return command
    }
}
