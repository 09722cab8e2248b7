import Foundation
import Traylog

/// Events that are read from an offset on.
protocol Feed: Sendable {
    var store: Store { get }
    /// The offset of a seq in this feed.
    func offset(_ seq: Seq) -> FeedOffset
    /// Where to read, given the offset of a request.
    ///
    /// - Throws: ``Problem`` 400 for an offset of another feed, 410 for one that cannot be read.
    func start(_ text: String?) async throws -> Seq
    func page(after seq: Seq) async throws -> FeedPage
    /// Hands over pages as they come, the first one at once, until the closure returns false or the stopper stops.
    func follow(after seq: Seq, stopper: Stopper?, _ body: (FeedPage) async throws -> Bool) async throws
}

extension Feed {
    /// The first page with events; nil when the task is cancelled before it comes.
    func next(after seq: Seq) async throws -> FeedPage? {
        var found: FeedPage?
        try await follow(after: seq, stopper: nil) { page in
            found = page
            return page.events.isEmpty
        }
        return found
    }

    /// The seq of an offset of this store, which may be below the floor or beyond the head.
    func seq(_ offset: FeedOffset) async throws -> Seq {
        do throws(TraylogError) {
            return try await store.seq(of: .seq(offset.seq))
        } catch .refused(.compacted(let floor, _)) {
            throw gone("compacted", "the events after it have left the log", floor)
        } catch .refused(.upToBeyondHead) {
            throw gone("rewound", "it is beyond the head: the store was restored from a backup", nil)
        }
    }

    func gone(_ error: String, _ detail: String, _ floor: Seq?) -> Problem {
        var problem = Problem(.gone, "Gone", "this offset cannot be read: \(detail)", error: error)
        if let floor {
            problem.members = [("floor", .int(floor.rawValue)), ("offset", .string(offset(floor).description))]
        }
        return problem
    }
}

/// What happened to one user.
struct UserFeed: Feed {
    let store: Store
    private let user: String
    private let identity: String
    private let stream: UInt32

    init(_ call: Call) async throws {
        store = call.store
        user = call.user
        identity = call.service.storeIdentity
        stream = try await store.version(of: user).stream
    }

    func offset(_ seq: Seq) -> FeedOffset { FeedOffset(store: identity, feed: .user(stream), seq: seq) }

    func start(_ text: String?) async throws -> Seq {
        switch text {
        case nil, "-1": return try await seq(offset(.zero))
        case "now": return try await store.head()
        case let text?:
            guard let offset = FeedOffset(text), offset.store == identity, case .user(let owner) = offset.feed else {
                throw Problem.invalid("offset", "is not of this feed")
            }
            if owner != stream {
                if try await store.isErased(stream: owner) { throw gone("erased", "its person was erased", nil) }
                // Given out before the user's first event: right as long as none came before it.
                guard owner == 0, try await isBeforeFirstEvent(offset.seq) else {
                    throw Problem.invalid("offset", "is not of this feed")
                }
            }
            return try await seq(offset)
        }
    }

    private func isBeforeFirstEvent(_ seq: Seq) async throws -> Bool {
        guard let first = try await store.history(of: user, limit: 1).events.first else { return true }
        return first.seq > seq
    }

    func page(after seq: Seq) async throws -> FeedPage {
        FeedPage(try await store.changes(of: user, after: seq, limit: FeedRoutes.pageEvents))
    }

    func follow(after seq: Seq, stopper: Stopper?, _ body: (FeedPage) async throws -> Bool) async throws {
        var through = seq
        for try await changes in store.followChanges(of: user, after: seq, stopper: stopper) {
            var page = FeedPage(changes)
            guard try await body(page) else { return }
            through = page.through
            // What did not fit comes before the next change.
            while through < changes.through {
                page = try await self.page(after: through)
                guard try await body(page) else { return }
                through = page.through
            }
        }
    }
}

extension FeedPage {
    fileprivate init(_ changes: Changes) {
        self.init(changes.events, through: changes.through, isAtHead: changes.isComplete)
    }
}

/// The log, or those of its events that match a filter.
struct LogFeed: Feed {
    let store: Store
    private let identity: String
    private let filter: EventFilter

    init(_ call: Call) throws {
        store = call.store
        identity = call.service.storeIdentity
        var filter = EventFilter()
        (filter.user, filter.actor) = (try call.name("user"), try call.name("actor"))
        filter.device = try call.name("device")
        for name in call.query["kind"]?.split(separator: ",", omittingEmptySubsequences: false) ?? [] {
            guard let kind = EventKind(name: name) else {
                throw Problem.invalid("kind", "is none of the kinds of event")
            }
            filter.kinds.insert(kind)
        }
        self.filter = filter
    }

    func offset(_ seq: Seq) -> FeedOffset { FeedOffset(store: identity, feed: .log, seq: seq) }

    func start(_ text: String?) async throws -> Seq {
        switch text {
        case nil, "-1": return try await seq(offset(.zero))
        case "now": return try await store.head()
        case let text?:
            guard let offset = FeedOffset(text), offset.store == identity, offset.feed == .log else {
                throw Problem.invalid("offset", "is not of this feed")
            }
            return try await seq(offset)
        }
    }

    func page(after seq: Seq) async throws -> FeedPage {
        let head = try await store.head()
        guard seq < head else { return FeedPage([], through: seq, isAtHead: true) }
        let found = try await store.search(filter, from: Seq(seq.rawValue + 1), limit: FeedRoutes.pageEvents)
        let events = found.events.filter { $0.seq <= head }
        guard let next = found.next, next <= head else { return FeedPage(events, through: head, isAtHead: true) }
        return FeedPage(events, through: Seq(next.rawValue - 1), isAtHead: false)
    }

    func follow(after seq: Seq, stopper: Stopper?, _ body: (FeedPage) async throws -> Bool) async throws {
        var through = seq
        repeat {
            let page = try await page(after: through)
            guard try await body(page) else { return }
            through = page.through
            if !page.isAtHead { continue }
            // Something new is committed, whatever it is.
            var isNew = false
            for try await _ in store.follow(from: Seq(through.rawValue + 1), stopper: stopper) {
                isNew = true
                break
            }
            guard isNew else { return }
        } while !Task.isCancelled
    }
}

extension Timestamp {
    /// Seconds since 1970, by the system's clock.
    static var sinceEpoch: Int { Int(Date().timeIntervalSince1970) }
}
