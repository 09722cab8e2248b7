@_spi(Operations) import Traylog
import TraylogDomain
import class TraylogPlatform.Monitor

/// The naive model behind the store's interface, so that the comparison itself can be tested.
///
/// A `Twist` makes it lie in one way, which the comparison must find.
package final class NaiveBackedStore: StoreUnderTest {
    package struct Twist: Sendable {
        package var tray: @Sendable (Tray) -> Tray = { $0 }
        package var inbox: @Sendable (Page<Item, Cursor>) -> Page<Item, Cursor> = { $0 }
        package var threads: @Sendable (Page<ThreadGroup, Cursor>) -> Page<ThreadGroup, Cursor> = { $0 }
        package var events: @Sendable ([Event]) -> [Event] = { $0 }
        package var item: @Sendable (Item) -> Item = { $0 }
        package var users: @Sendable ([String]) -> [String] = { $0 }
        package var audience: @Sendable (Audience) -> Audience = { $0 }
        package var recipients: @Sendable ([Recipient]) -> [Recipient] = { $0 }
        package var receipt: @Sendable (Receipt) -> Receipt = { $0 }

        package init() {}
    }

    private struct State {
        var naive = NaiveStore()
        var clock: Int64 = 1_000_000

        mutating func now() -> Timestamp {
            clock += 7
            return Timestamp(milliseconds: clock)
        }
    }

    private let state = Monitor(State())
    private let twist: Twist

    package init(twist: Twist = Twist()) { self.twist = twist }

    package func perform(_ command: Command) throws(TraylogError) -> Receipt {
        twist.receipt(try unwrapped(state.withLock { $0.naive.perform(command, now: $0.now()) }))
    }

    package func perform(_ commands: [Command]) throws(TraylogError) -> [Receipt] {
        try unwrapped(state.withLock { $0.naive.perform(commands, now: $0.now()) })
    }

    package func submit(
        _ commands: [Command], stopAtRefusal: Bool
    ) throws(TraylogError) -> [Result<Receipt, Refusal>] {
        var results: [Result<Receipt, Refusal>] = []
        for command in commands {
            let result = state.withLock { $0.naive.perform(command, now: $0.now()) }
            results.append(result)
            if case .failure = result, stopAtRefusal { break }
        }
        return results
    }

    package func advance(to time: Timestamp) throws(TraylogError) {
        _ = state.withLock { $0.naive.tick(time, now: $0.now()) }
    }

    package func close() {}

    private func unwrapped<Value>(_ result: Result<Value, Refusal>) throws(TraylogError) -> Value {
        switch result {
        case .success(let value): return value
        case .failure(let refusal): throw .refused(refusal)
        }
    }
}

extension NaiveBackedStore {
    private var naive: NaiveStore { state.withLock { $0.naive } }

    package func head() throws(TraylogError) -> Seq { naive.head }

    package func tray(of user: String, asOf: Moment?) throws(TraylogError) -> Tray {
        twist.tray(naive.tray(of: user, asOf: try seq(asOf)))
    }

    package func mutes(of user: String, asOf: Moment?) throws(TraylogError) -> Mutes {
        naive.mutes(of: user, asOf: try seq(asOf))
    }

    package func inbox(of user: String, _ query: InboxQuery, asOf: Moment?) throws(TraylogError) -> Page<Item, Cursor> {
        let seq = try seq(asOf)
        do throws(Refusal) {
            return twist.inbox(try naive.inbox(of: user, query, asOf: seq))
        } catch { throw .refused(error) }
    }

    package func threads(
        of user: String, limit: Int, cursor: Cursor?, asOf: Moment?
    ) throws(TraylogError) -> Page<ThreadGroup, Cursor> {
        let seq = try seq(asOf)
        do throws(Refusal) {
            return twist.threads(try naive.threads(of: user, limit: limit, cursor: cursor, asOf: seq))
        } catch { throw .refused(error) }
    }

    package func history(of user: String, from: Seq, limit: Int, asOf: Moment?) throws(TraylogError) -> Page<Event, Seq>
    {
        Page(naive.history(of: user, from: from, limit: limit, asOf: try seq(asOf)), asOf: try seq(asOf) ?? naive.head)
    }

    package func events(from: Seq, limit: Int, asOf: Moment?) throws(TraylogError) -> Page<Event, Seq> {
        Page(twist.events(naive.log(from: from, limit: limit, asOf: try seq(asOf))), asOf: try seq(asOf) ?? naive.head)
    }

    package func users(
        after name: String?, prefix: String, limit: Int, asOf: Moment?
    ) throws(TraylogError) -> Page<String, String> {
        Page(
            twist.users(naive.users(after: name, prefix: prefix, limit: limit, asOf: try seq(asOf))),
            asOf: try seq(asOf) ?? naive.head)
    }

    package func item(_ item: ItemReference, of user: String, asOf: Moment?) throws(TraylogError) -> Item {
        let seq = try seq(asOf)
        do throws(Refusal) { return twist.item(try naive.item(item, of: user, asOf: seq)) } catch {
            throw .refused(error)
        }
    }

    package func audience(of item: Seq, asOf: Moment?) throws(TraylogError) -> Audience {
        twist.audience(naive.audience(of: item, asOf: try seq(asOf)))
    }

    package func recipients(
        of item: Seq, _ part: Audience.Part, after name: String?, limit: Int, asOf: Moment?
    ) throws(TraylogError) -> Page<Recipient, String> {
        let all = twist.recipients(naive.recipients(of: item, part, asOf: try seq(asOf)))
        let rest = all.filter { recipient in Name(name).map { $0 < Name(recipient.user) } ?? true }
        let page = Array(rest.prefix(limit))
        return Page(page, next: rest.count > limit ? page.last?.user : nil, asOf: try seq(asOf) ?? naive.head)
    }

    private func seq(_ moment: Moment?) throws(TraylogError) -> Seq? {
        switch moment {
        case nil: return nil
        case .time(let time): return naive.seq(at: time)
        case .seq(let seq):
            do throws(Refusal) { return try naive.checkedAsOf(seq) } catch { throw .refused(error) }
        }
    }

    package func statistics() throws(TraylogError) -> StoreStatistics {
        var statistics = StoreStatistics()
        statistics.head = naive.head
        statistics.events = naive.head.rawValue
        statistics.users = UInt64(naive.users().count)
        statistics.topics = UInt64(naive.topics().count)
        return statistics
    }
}
