import Foundation
import TestSupport
@_spi(Replication) import Traylog
import TraylogDomain
import TraylogPlatform

/// Writes down what clients ask and are answered, with the order of beginnings and ends.
final class HistoryRecorder: Sendable {
    private struct State {
        var time: UInt64 = 0
        var history = RecordedHistory()
        var failures: [String] = []
    }

    private let state = Monitor(State())

    var failures: [String] { state.withLock { $0.failures } }
    var history: RecordedHistory { state.withLock { $0.history } }

    /// The next reading of the clock.
    func tick() -> UInt64 {
        state.withLock { state in
            state.time += 1
            return state.time
        }
    }

    /// Writes an answer down that was asked for at `began`, and has just come.
    func add(_ client: String, since began: UInt64, _ body: Operation.Body) {
        state.withLock { state in
            state.time += 1
            state.history.operations.append(
                Operation(client: client, began: began, ended: state.time, body: body))
        }
    }

    func addObserved(_ trays: [Tray]) { state.withLock { $0.history.observed.append(trays) } }
    func addFollowed(_ events: [Event]) { state.withLock { $0.history.followed.append(events) } }
    func addFailure(_ text: String) { state.withLock { $0.failures.append(text) } }
    func finish(_ events: [Event]) { state.withLock { $0.history.events = events } }

    /// Performs one command or a transaction, by blocking the thread.
    func perform(_ commands: [Command], on store: Store, as client: String) throws {
        let began = tick()
        let result = try answered { () throws(TraylogError) in
            commands.count == 1 ? [try store.perform(commands[0])] : try store.perform(commands)
        }
        add(client, since: began, .commands(commands, result))
    }

    /// The same without blocking it.
    func perform(_ commands: [Command], on store: Store, as client: String) async throws {
        let began = tick()
        var result: Result<[Receipt], Refusal>
        do throws(TraylogError) {
            result = .success(
                commands.count == 1 ? [try await store.perform(commands[0])] : try await store.perform(commands))
        } catch {
            guard case .refused(let refusal) = error else { throw error }
            result = .failure(refusal)
        }
        add(client, since: began, .commands(commands, result))
    }

    /// Asks one of the questions.
    func ask(_ store: some BlockingQueries, _ user: String, as client: String, _ random: inout SeededRandom) throws {
        let began = tick()
        switch random.below(5) {
        case 0: add(client, since: began, .head(try store.head()))
        case 1, 2: add(client, since: began, .tray(try store.tray(of: user)))
        case 3:
            let query = InboxQuery(ItemFilter(includeSilent: true), limit: 100)
            add(client, since: began, .inbox(of: user, try store.inbox(of: user, query)))
        default:
            let seq = Seq(UInt64(random.below(Int(try store.head().rawValue) + 1)))
            add(client, since: began, .past(try store.tray(of: user, asOf: .seq(seq)), seq))
        }
    }

    /// Asks in a process of its own.
    func askOutside(_ program: TraylogProgram, _ user: String, as client: String) throws {
        let began = tick()
        let object = try program.object("tray", user, "--json")
        add(client, since: began, .tray(Tray(json: object)))
    }

    private func answered(
        _ body: () throws(TraylogError) -> [Receipt]
    ) throws(TraylogError) -> Result<[Receipt], Refusal> {
        do throws(TraylogError) {
            return .success(try body())
        } catch {
            guard case .refused(let refusal) = error else { throw error }
            return .failure(refusal)
        }
    }
}

extension Tray {
    /// As the program prints it; categories must not be canonically equivalent.
    fileprivate init(json object: NSDictionary) {
        func number(_ object: NSDictionary?, _ name: String) -> Int {
            (object?[name] as? NSNumber)?.intValue ?? 0
        }
        self.init(
            user: object["user"] as? String ?? "", asOf: Seq(UInt64(number(object, "asOf"))),
            revision: UInt64(number(object, "revision")),
            unseen: number(object, "unseen"), unread: number(object, "unread"),
            awaiting: number(object, "awaiting"), total: number(object, "total"),
            seenUpTo: Seq(UInt64(number(object, "seenUpTo"))),
            seenAt: (object["seenAt"] as? String).flatMap { Timestamp($0) },
            newest: (object["newest"] as? NSNumber).map { Seq($0.uint64Value) },
            newestCounted: (object["newestCounted"] as? NSNumber).map { Seq($0.uint64Value) })
        let counts = object["categories"] as? NSDictionary ?? [:]
        categories = counts.allKeys.compactMap { $0 as? String }.sorted().map { name in
            let values = counts[name] as? NSDictionary
            return CategoryCounts(
                category: name, unseen: number(values, "unseen"), unread: number(values, "unread"))
        }
    }
}
