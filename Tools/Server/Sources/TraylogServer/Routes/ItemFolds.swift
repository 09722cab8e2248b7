import NIOCore
import Synchronization
@_spi(Operations) @_spi(Replication) import Traylog

/// What changed in a user's tray: the items as they are now, and the tray that they belong to.
struct ItemUpdate: Sendable {
    let tray: Tray
    /// The event for listeners; nil where no item changed.
    let items: ByteBuffer?

    var asOf: Seq { tray.asOf }
    var event: ByteBuffer { LiveStream.event(tray) }

    /// Tells a listener to read the items again.
    static func reload(asOf seq: Seq) -> ByteBuffer {
        let data: JSONValue = ["asOf": JSONValue(seq), "reload": true]
        return LiveStream.event("items", String(decoding: data.bytes, as: UTF8.self))
    }
}

/// Finds the items that change, once for all who listen to a user.
///
/// Nothing is computed for users to whom nobody listens.
package final class ItemFolds: Sendable {
    private let store: Store
    private let folds = Mutex<[[UInt8]: ItemFold]>([:])

    init(_ store: Store) { self.store = store }

    /// Listens for as long as the body runs.
    ///
    /// What the body reads from the store is not older than where the updates begin.
    func listening<Value>(to user: String, _ body: (ItemListener) async throws -> Value) async throws -> Value {
        let listener = ItemListener()
        let start = try await store.log.head()
        let fold = folds.withLock { folds in
            let name = Array(user.utf8)
            if let fold = folds[name], fold.add(listener) { return fold }
            let fold = ItemFold(store, user)
            _ = fold.add(listener)
            folds[name] = fold
            fold.begin(after: start)
            return fold
        }
        defer {
            folds.withLock { folds in
                let name = Array(user.utf8)
                if fold.remove(listener), folds[name] === fold { folds[name] = nil }
            }
        }
        return try await body(listener)
    }
}

/// Follows one user.
private final class ItemFold: Sendable {
    /// More items than these are not worth sending.
    private static let mostItems = 200
    /// Between two looks at the tray, so that a busy user costs a bounded part of a processor.
    private static let pause = Duration.milliseconds(100)

    private struct State {
        var listeners: [ObjectIdentifier: ItemListener] = [:]
        var isOver = false
    }

    private let store: Store
    private let user: String
    private let stopper = Stopper()
    private let state = Mutex(State())

    init(_ store: Store, _ user: String) { (self.store, self.user) = (store, user) }

    /// - Returns: whether the listener will hear of changes.
    func add(_ listener: ItemListener) -> Bool {
        state.withLock { state in
            if !state.isOver { state.listeners[ObjectIdentifier(listener)] = listener }
            return !state.isOver
        }
    }

    /// - Returns: whether nobody listens any more; it ends then.
    func remove(_ listener: ItemListener) -> Bool {
        let isLast = state.withLock { state in
            state.listeners[ObjectIdentifier(listener)] = nil
            if state.listeners.isEmpty { state.isOver = true }
            return state.isOver
        }
        if isLast { stopper.stop() }
        return isLast
    }

    func begin(after seq: Seq) {
        Task {
            var failure: (any Error)?
            do { try await run(after: seq) } catch { failure = error }
            let listeners = state.withLock { state in
                state.isOver = true
                return Array(state.listeners.values)
            }
            for listener in listeners { listener.end(failure) }
        }
    }

    private func run(after seq: Seq) async throws {
        var (last, stream): (Seq, UInt32?) = (seq, nil)
        while true {
            do {
                for try await changes in store.followChanges(of: user, after: last, stream: stream, stopper: stopper) {
                    stream = changes.stream
                    if !changes.events.isEmpty { try await tell(from: last, to: changes.through) }
                    last = changes.through
                    if !changes.events.isEmpty { try await Task.sleep(for: Self.pause) }
                }
                return
            } catch TraylogError.refused(.compacted) {
                // Nobody wrote to the user for so long that the events in between have left the log.
                let tray = try await store.tray(of: user)
                tell(ItemUpdate(tray: tray, items: ItemUpdate.reload(asOf: tray.asOf)))
                last = tray.asOf
            } catch TraylogError.refused(.erased) {
                let tray = Tray(user: user, asOf: try await store.log.head())
                tell(ItemUpdate(tray: tray, items: ItemUpdate.reload(asOf: tray.asOf)))
                throw TraylogError.refused(.erased(user: user))
            }
        }
    }

    private func tell(from last: Seq, to end: Seq) async throws {
        let difference = try await store.proofs.difference(of: user, from: .seq(last), to: .seq(end))
        var items: ByteBuffer?
        if difference.items.count > Self.mostItems {
            items = ItemUpdate.reload(asOf: end)
        } else if !difference.items.isEmpty {
            items = try await event(of: difference.items, asOf: end)
        }
        tell(ItemUpdate(tray: difference.after, items: items))
    }

    private func event(of changes: [ItemChange], asOf end: Seq) async throws -> ByteBuffer {
        var (shown, gone): ([JSONValue], [JSONValue]) = ([], [])
        for change in changes {
            if change.after.isGone || change.after.isDeleted {
                gone.append(JSONValue(change.item))
            } else {
                let item = try await store.item(.seq(change.item), of: user, asOf: .seq(end))
                shown.append(.raw(item.jsonBytes))
            }
        }
        let data: JSONValue = ["asOf": JSONValue(end), "items": .array(shown), "gone": .array(gone)]
        return LiveStream.event("items", String(decoding: data.bytes, as: UTF8.self))
    }

    private func tell(_ update: ItemUpdate) {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.tell(update) }
    }
}

/// Takes what one stream is to send, and waits for nobody.
final class ItemListener: Sendable {
    /// A reader who is more behind than this reads the items again.
    private static let mostPending = 16

    private struct State {
        var pending: [ItemUpdate] = []
        var end: (any Error)?
    }

    private let state = Mutex(State())
    /// An element for each time when there may be something to take; it ends with the fold.
    let signals: AsyncStream<Void>
    private let told: AsyncStream<Void>.Continuation

    init() { (signals, told) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

    func tell(_ update: ItemUpdate) {
        state.withLock { state in
            state.pending.append(update)
            guard state.pending.count > Self.mostPending else { return }
            state.pending = [ItemUpdate(tray: update.tray, items: ItemUpdate.reload(asOf: update.asOf))]
        }
        told.yield()
    }

    /// - Parameter error: why there is nothing more; nil where the stream or the store ends.
    func end(_ error: (any Error)? = nil) {
        state.withLock { if $0.end == nil { $0.end = error } }
        told.finish()
    }

    /// The oldest update that was not taken.
    func next() -> ItemUpdate? {
        state.withLock { $0.pending.isEmpty ? nil : $0.pending.removeFirst() }
    }

    /// - Throws: what it was ended with.
    func checkEnd() throws { if let error = state.withLock({ $0.end }) { throw error } }
}
