import Synchronization
import TraylogDomain

/// The source that an ``InboxFetcher`` loads from: a store, a reader or a device's client.
///
/// Its requirements are SPI (`Replication`), so that an app does not find them among the calls of its store. With it, a test can
/// make a source of its own.
public protocol InboxSource: Sendable {
    /// One page of a user's inbox.
    @_spi(Replication) func page(of user: String, _ query: InboxQuery) async throws(TraylogError) -> Page<Item, Cursor>
    /// Items as they are now, without those that the user has no more.
    @_spi(Replication) func items(_ seqs: [Seq], of user: String) async throws(TraylogError) -> [Item]
}

/// A source whose items can be marked.
public protocol MarkableInbox: InboxSource {
    /// How a mark is acknowledged.
    associatedtype Marked: Sendable
    /// Performs what the user did. When it returns, the mark is durable.
    @_spi(Replication) func perform(_ action: Command.Action, of user: String) async throws(TraylogError) -> Marked
}

extension Item {
    func isListed(in view: InboxQuery.View) -> Bool {
        guard !isDeleted, !isGone else { return false }
        return switch view {
        case .inbox: !isArchived && !isSnoozed
        case .archived: isArchived
        case .snoozed: isSnoozed
        }
    }
}

/// A lock for tasks, which get it in the order of their calls.
package final class AsyncLock: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Waits for the lock.
    ///
    /// The caller must ``release()`` it.
    package func acquire() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.isTaken { state.waiting.append(continuation) }
                defer { state.isTaken = true }
                return !state.isTaken
            }
            if isFree { continuation.resume() }
        }
    }

    package func release() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.isTaken = !state.waiting.isEmpty
            return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
        next?.resume()
    }
}
