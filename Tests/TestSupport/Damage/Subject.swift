import Foundation
@_spi(Operations) import Traylog
import TraylogDomain

/// A store with every kind of data, whose file is then damaged.
package struct Subject: Sendable {
    package static let userNames = HistoryNames.names(24, "user")

    private static var mix: HistoryMix {
        var mix = HistoryMix.typical
        mix.users = userNames.count
        mix.largePercent = 2
        return mix.with(.all)
    }

    /// Makes the store at `path`: topics, snoozes, undos, landmarks, large payloads, projections, and free pages.
    ///
    /// - Returns: its head.
    package static func make(at path: String, seed: UInt64, steps: Int) throws -> Seq {
        var options = StoreOptions()
        options.durability = .relaxed
        options.ticking = .manual
        options.landmarkDistance = 40
        options.tailEvents = 300
        options.mapSizeBytes = 256 << 20
        var generator = HistoryGenerator(seed: seed, mix: mix)
        var naive = NaiveStore()
        var head = Seq.zero
        for _ in 0..<2 {
            let store = try Store.open(path, options: options)
            _ = try store.project(MainDigest.self, storedEveryMilliseconds: 0)
            _ = try store.project(Weighted<Bulk>.self, storedEveryMilliseconds: 0)
            for _ in 0..<steps / 2 {
                switch generator.next(given: naive) {
                case .command(let command):
                    _ = naive.perform(command, now: generator.now)
                    _ = try store.submit([command], stopAtRefusal: false)
                case .tick(let time):
                    naive.tick(time, now: generator.now)
                    try store.advance(to: time)
                }
            }
            head = try store.head()
            store.close()
        }
        return head
    }
}
