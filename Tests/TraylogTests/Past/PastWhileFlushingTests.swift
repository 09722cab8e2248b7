import Testing
import TestSupport
import TraylogPlatform
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain

/// Questions about the past while stored pages are written over all the time.
@Suite struct PastWhileFlushingTests {
    private static let items = sized(250, nightly: 4_000)

    /// The item that event `items + n` marks: each once, and each in another sealed page than the one before.
    private static func item(_ n: Int) -> UInt64 { UInt64(n * 67 % items + 1) }

    @Test func asOfAnswersStayTheSameWhileStatesAreFlushed() throws {
        try withStorePath { path in
            var settings = options(tailEvents: 8, isRelaxed: true)
            settings.landmarkDistance = 5
            try withStore(path, settings) { store in
                _ = try store.perform((0..<Self.items).map { _ in notify("ann") })
                let isOver = Monitor(false)
                let wrong = Monitor<[String]>([])
                let readers = (0..<3).map { number in
                    startThread("reader") {
                        var random = SeededRandom(seed: UInt64(number))
                        while !isOver.withLock({ $0 }) {
                            do {
                                if let difference = try Self.look(store, &random) {
                                    wrong.withLock { $0.append(difference) }
                                }
                            } catch {
                                wrong.withLock { $0.append("\(error)") }
                            }
                        }
                    }
                }
                for n in 1...Self.items {
                    _ = try store.perform(Command(user: "ann", .mark(.read, [.seq(Seq(Self.item(n)))])))
                }
                isOver.withLock { $0 = true }
                for reader in readers { reader.join() }
                let found = wrong.withLock { $0 }
                #expect(found.isEmpty, "\(found.count) wrong answers, such as \(found.prefix(3))")
            }
            #expect(try replay(path).identical)
        }
    }

    /// The fault of an answer from shortly before now; nil if it has none.
    private static func look(_ store: Store, _ random: inout SeededRandom) throws -> String? {
        let marked = Int(try store.head().rawValue) - items - random.below(12)
        guard marked > 0, marked + 6 <= items else { return nil }
        let moment = Moment.seq(Seq(UInt64(items + marked)))
        let unread = try store.tray(of: "ann", asOf: moment).unread
        if unread != UInt64(items - marked) { return "as of \(moment): \(unread) unread" }
        let next = item(marked + 1 + random.below(6))
        let query = InboxQuery(limit: 1, cursor: Cursor(before: Seq(next + 1)))
        guard let found = try store.inbox(of: "ann", query, asOf: moment).elements.first else {
            return "no item \(next)"
        }
        return found.seq == Seq(next) && !found.isRead
            ? nil : "as of \(moment): item \(found.seq), read \(found.isRead)"
    }
}
