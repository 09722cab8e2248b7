import TestSupport
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain

extension TestedStore {
    /// Performs random commands, with ticks, undos and broadcasts, and returns the users that occur.
    func play(seed: UInt64, steps: Int, mix: HistoryMix) throws -> [String] {
        var generator = HistoryGenerator(seed: seed, mix: mix)
        var model = NaiveStore()
        for _ in 0..<steps {
            switch generator.next(given: model) {
            case .command(let command):
                _ = model.perform(command, now: generator.now)
                do { _ = try store.perform(command) } catch TraylogError.refused { continue }
            case .tick(let time):
                model.tick(time, now: generator.now)
                _ = try store.tick(now: time)
            }
        }
        return try store.users(limit: .max).elements
    }
}
