import Foundation
@_spi(Operations) import Traylog
import TraylogDomain

/// A store that tells the world how far its log reaches: after each of its commits, because a tick has several, and after
/// each call that may have appended.
struct AcknowledgingStore: StoreUnderTest {
    let store: Store
    private let acknowledgements: FileHandle

    static func open(
        _ directory: String, options: StoreOptions, acknowledgements: FileHandle
    ) throws(TraylogError) -> AcknowledgingStore {
        var options = options
        options.observer = CommitObserver(acknowledgements: acknowledgements)
        return AcknowledgingStore(
            store: try Store.open(directory, options: options), acknowledgements: acknowledgements)
    }

    func perform(_ command: Command) throws(TraylogError) -> Receipt {
        let receipt = try store.perform(command)
        try acknowledge()
        return receipt
    }

    func perform(_ commands: [Command]) throws(TraylogError) -> [Receipt] {
        let receipts = try store.perform(commands)
        try acknowledge()
        return receipts
    }

    func submit(
        _ commands: [Command], stopAtRefusal: Bool
    ) throws(TraylogError) -> [Result<Receipt, Refusal>] {
        let results = try store.submit(commands, stopAtRefusal: stopAtRefusal)
        try acknowledge()
        return results
    }

    func advance(to time: Timestamp) throws(TraylogError) {
        try store.advance(to: time)
        try acknowledge()
    }

    func compact(
        before floor: Seq, archive: String?, progress: @escaping () throws -> Void
    ) throws(TraylogError) -> CompactionReport {
        let report = try store.compact(before: floor, archive: archive, progress: progress)
        try acknowledge()
        return report
    }

    func erase(_ user: String) throws(TraylogError) {
        _ = try store.erase(user)
        try acknowledge()
    }

    func close() { store.close() }

    private func acknowledge() throws(TraylogError) {
        let head = try store.head()
        do {
            try acknowledgements.acknowledge(head)
        } catch {
            throw .failed(StoreFailure(code: .inputOutput, message: "\(error)"))
        }
    }
}

private struct CommitObserver: StoreObserver {
    let acknowledgements: FileHandle

    func observe(_ activity: StoreActivity) {
        guard case .committed(_, let head, _, _) = activity else { return }
        do { try acknowledgements.acknowledge(head) } catch { fatalError("a commit cannot be acknowledged: \(error)") }
    }
}

extension FileHandle {
    /// One write, which the recorder sees.
    func acknowledge(_ head: Seq) throws { try write(contentsOf: Data("\(head)\n".utf8)) }
}

// The queries are the store's.
extension AcknowledgingStore {
    func head() throws(TraylogError) -> Seq { try store.head() }

    func tray(of user: String, asOf: Moment?) throws(TraylogError) -> Tray { try store.tray(of: user, asOf: asOf) }

    func mutes(of user: String, asOf: Moment?) throws(TraylogError) -> Mutes { try store.mutes(of: user, asOf: asOf) }

    func inbox(of user: String, _ query: InboxQuery, asOf: Moment?) throws(TraylogError) -> Page<Item, Cursor> {
        try store.inbox(of: user, query, asOf: asOf)
    }

    func threads(of user: String, limit: Int, cursor: Cursor?, asOf: Moment?) throws(TraylogError) -> Page<
        ThreadGroup, Cursor
    > {
        try store.threads(of: user, limit: limit, cursor: cursor, asOf: asOf)
    }

    func history(of user: String, from: Seq, limit: Int, asOf: Moment?) throws(TraylogError) -> Page<Event, Seq> {
        try store.history(of: user, from: from, limit: limit, asOf: asOf)
    }

    func events(from: Seq, limit: Int, asOf: Moment?) throws(TraylogError) -> Page<Event, Seq> {
        try store.events(from: from, limit: limit, asOf: asOf)
    }

    func users(after name: String?, prefix: String, limit: Int, asOf: Moment?) throws(TraylogError) -> Page<
        String, String
    > {
        try store.users(after: name, prefix: prefix, limit: limit, asOf: asOf)
    }

    func item(_ item: ItemReference, of user: String, asOf: Moment?) throws(TraylogError) -> Item {
        try store.item(item, of: user, asOf: asOf)
    }

    func statistics() throws(TraylogError) -> StoreStatistics { try store.statistics() }

    func audience(of item: Seq, asOf: Moment?) throws(TraylogError) -> Audience {
        try store.audience(of: item, asOf: asOf)
    }

    func recipients(
        of item: Seq, _ part: Audience.Part, after name: String?, limit: Int, asOf: Moment?
    ) throws(TraylogError) -> Page<Recipient, String> {
        try store.recipients(of: item, part, after: name, limit: limit, asOf: asOf)
    }
}
