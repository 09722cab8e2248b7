import Testing
import TestSupport
@testable import Traylog
@testable import TraylogDomain
@_spi(Operations) @testable import TraylogQueries

/// The cost of a broadcast does not depend on the number of its receivers.
@Suite struct AudienceTests {
    @Test func aBroadcastIsOneEventWhateverTheAudience() throws {
        let few = try growth(audience: 10)
        let many = try growth(audience: sized(5_000, nightly: 1_000_000))
        #expect(few.rows == many.rows)
        // The last page of each table may have been fuller in one of them.
        #expect(abs(few.bytes - many.bytes) <= 10 * 4_096, "\(few.bytes) and \(many.bytes)")
    }

    private struct Growth {
        var rows: [String: Int]
        var bytes: Int
    }

    /// What 100 broadcasts add to the file, with all of its states stored.
    private func growth(audience: Int) throws -> Growth {
        try withStorePath { path in
            try withStore(path, options(tailEvents: 800_000, isRelaxed: true)) { store in
                for start in stride(from: 0, to: audience, by: 10_000) {
                    let users = start..<min(start + 10_000, audience)
                    _ = try store.perform(users.map { command("user\($0)", .subscribe(topic: "news")) })
                }
                _ = try store.perform(command(nil, .broadcast(topic: "news", Content(title: "The first one"))))
            }
            let before = try withReader(path) { try $0.statistics() }
            try withStore(path, options(isRelaxed: true)) { store in
                for number in 0..<100 {
                    let head = try store.head().rawValue
                    let shout = command(nil, .broadcast(topic: "news", Content(title: "Nr \(number % 10)")))
                    #expect(try store.perform(shout) == .appended(Seq(head + 1)))
                }
                for user in [0, audience / 2, audience - 1] {
                    let tray = try store.tray(of: "user\(user)")
                    #expect(tray.total == 101 && tray.unseen == 101 && tray.asOf.rawValue == UInt64(audience + 101))
                }
            }
            let after = try withReader(path) { try $0.statistics() }
            return Growth(rows: after.rows(since: before), bytes: after.used - before.used)
        }
    }
}

extension StoreStatistics {
    fileprivate var used: Int { Int(bytes) - Int(freeBytes) }

    fileprivate func rows(since before: StoreStatistics) -> [String: Int] {
        let old = Dictionary(uniqueKeysWithValues: before.tables.map { ($0.name, Int($0.entries)) })
        let new = tables.map { ($0.name, Int($0.entries) - (old[$0.name] ?? 0)) }
        return Dictionary(uniqueKeysWithValues: new.filter { $0.1 != 0 })
    }
}
