import Foundation
import Testing
import TestSupport
import TraylogLog
import TraylogPlatform
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogQueries

/// Threads that append commands of all kinds and ask queries, until they are stopped.
final class Traffic: Sendable {
    private struct Receipted {
        var seq: Seq
        var command: Command
    }

    private let store: Store
    private let seed: UInt64
    private let isOver = Monitor(false)
    /// How many threads still append.
    private let appending = Monitor(0)
    private let log = Monitor(WholeLog())
    private let receipts = Monitor<[Receipted]>([])

    init(_ store: Store, seed: UInt64) {
        self.store = store
        self.seed = seed
    }

    static func settings(_ seed: UInt64) -> StoreOptions {
        var options = options(tailEvents: seed % 2 == 0 ? 8 : 200, isRelaxed: true)
        options.landmarkDistance = 5
        options.cacheBytes = 20_000
        return options
    }

    /// All events so far; the floor must not move past the gathered ones.
    func gathered() throws -> WholeLog {
        try log.withLock { log in
            try log.gather(store)
            return log
        }
    }

    /// - Parameters:
    ///   - steps: of each thread that appends.
    ///   - body: called again and again, meanwhile.
    func run(steps: Int, _ body: (_ round: Int, _ random: inout SeededRandom) throws -> Void) throws {
        appending.withLock { $0 = 3 }
        let threads =
            (0..<3).map { number in
                startThread("appender") { self.recording { try self.append(UInt64(number), steps) } }
            }
            + (0..<2).map { number in
                startThread("reader") { self.recording { try self.read(number) } }
            }
        defer {
            isOver.withLock { $0 = true }
            for thread in threads { thread.join() }
        }
        var random = SeededRandom(seed: seed)
        var round = 0
        while round < 3 || appending.withLock({ $0 }) > 0 {
            try body(round, &random)
            round += 1
        }
    }

    /// Every command that was answered is the event of its seq.
    func checkReceipts(_ log: WholeLog) throws {
        let receipts = receipts.withLock { $0 }
        #expect(!receipts.isEmpty)
        #expect(Set(receipts.map(\.seq)).count == receipts.count, "seed \(seed)")
        for receipt in receipts {
            let event = log.events[Int(receipt.seq.rawValue) - 1]
            guard event.user.flatMap(Pseudonym.stream) == nil else { continue }
            #expect(event.user == receipt.command.user, "seed \(seed): \(receipt.command)")
            #expect(event.key == receipt.command.key, "seed \(seed): \(receipt.command)")
        }
    }

    private func recording(_ body: () throws -> Void) {
        do { try body() } catch { Issue.record(error, "seed \(seed)") }
    }

    private func append(_ number: UInt64, _ steps: Int) throws {
        defer { appending.withLock { $0 -= 1 } }
        var mix = HistoryMix.typical
        mix.largePercent = 1
        var generator = HistoryGenerator(seed: seed &* 31 &+ number, mix: mix.with(.all))
        var shadow = NaiveStore()
        for step in 0..<steps {
            // Its knowledge is slightly old, so that commands name items that others change meanwhile.
            if step % 25 == 0 { shadow = NaiveStore(replaying: try gathered().events) }
            do throws(TraylogError) {
                switch generator.next(given: shadow) {
                case .tick(let time): _ = try store.tick(now: time)
                case .command(let command):
                    let receipt = try store.perform(command)
                    guard case .appended(let seq) = receipt else { continue }
                    receipts.withLock { $0.append(Receipted(seq: seq, command: command)) }
                }
            } catch {
                guard case .refused = error else { throw error }
            }
        }
    }

    private func read(_ number: Int) throws {
        var (head, asOf, floor) = (Seq.zero, Seq.zero, Seq.zero)
        var random = SeededRandom(seed: seed &+ UInt64(number))
        while !isOver.withLock({ $0 }) {
            let users = try store.users(limit: .max).elements
            guard !users.isEmpty else { continue }
            let user = random.pick(users)
            let tray = try store.tray(of: user)
            #expect(tray.asOf >= asOf)
            asOf = tray.asOf
            let now = try store.head()
            #expect(now >= head && now >= asOf)
            head = now
            let newFloor = try store.statistics().floor
            #expect(newFloor >= floor)
            floor = newFloor
            _ = try store.inbox(of: user)
            _ = try store.threads(of: user)
            _ = try store.history(of: user, limit: .max).elements
            let past = Seq(floor.rawValue + UInt64(random.below(Int(head.rawValue - floor.rawValue) + 1)))
            do throws(TraylogError) {
                let page = try store.inbox(of: user, asOf: .seq(past))
                #expect(page.asOf == past)
            } catch {
                guard case .refused(.compacted(let later, _)) = error else { throw error }
                #expect(later > past)
            }
        }
    }
}
