@_spi(Operations) import Traylog
import TraylogDomain

/// The commands of one transaction for a tortured store, with the model's answers.
struct TortureStep {
    private enum Work {
        case commands([Command], expected: [Acknowledgement])
        case tick(Timestamp, now: Timestamp)
    }

    private let work: Work

    /// Draws the next step, of limited size, and performs it on the model.
    init(_ generator: inout HistoryGenerator, _ model: inout NaiveStore, commands count: Int) {
        var commands: [Command] = []
        var expected: [Acknowledgement] = []
        while commands.count < count {
            switch generator.next(given: model) {
            case .command(let command):
                commands.append(command)
                // Refusals are compared by name, because the model has its own messages.
                expected.append(Acknowledgement(line: 0, model.perform(command, now: generator.now)))
            case .tick(let time):
                // By itself, because it is a transaction of its own.
                guard commands.isEmpty else { continue }
                model.tick(time, now: generator.now)
                work = .tick(time, now: generator.now)
                return
            }
        }
        work = .commands(commands, expected: expected)
    }

    /// The models that may be right after the step failed: without it, with it, or with a part of a tick, which is several
    /// transactions.
    ///
    /// - Parameters:
    ///   - before: the model without the step.
    ///   - after: the same with it.
    ///   - head: the store's head.
    func models(_ before: NaiveStore, _ after: NaiveStore, at head: Seq) -> [NaiveStore] {
        guard case .tick(let time, let now) = work, head > before.head, head < after.head
        else { return [before, after] }
        var part = before
        part.tick(time, now: now, atMost: Int(UInt64(head) - UInt64(before.head)))
        return [before, after, part]
    }

    /// - Throws: the store's error, or a ``Difference`` to the model.
    func perform(on store: Store) throws {
        switch work {
        case .tick(let time, _): try store.tick(now: time)
        case .commands(let commands, let expected):
            let results = try store.submit(commands, stopAtRefusal: false)
            try expectSame(expected, results.map { Acknowledgement(line: 0, $0) }, "answers")
        }
    }
}
