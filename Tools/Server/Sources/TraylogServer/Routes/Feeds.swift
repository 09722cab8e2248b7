import Foundation
@_spi(Replication) @_spi(Operations) import Traylog

/// A place in a feed: an event, and the stream in which it was looked for.
struct FeedPosition: Sendable {
    var seq: Seq
    /// The number of the user's stream; 0 for somebody without events, and for the log.
    var stream: UInt32 = 0
}

/// Events that are read from an offset on.
protocol Feed: Sendable {
    var store: Store { get }
    /// On a node that follows, a client may have come further than the node.
    var isOfCluster: Bool { get }
    /// Distinguishes offsets of this store from those of a store that it was restored from.
    var history: StoreHistory { get }
    func offset(_ position: FeedPosition) -> FeedOffset
    /// Where to read, given the offset of a request.
    ///
    /// - Throws: ``Problem`` 400 for an offset of another feed, 410 for one that cannot be read.
    func start(_ text: String?) async throws -> FeedPosition
    func page(after position: FeedPosition) async throws -> FeedPage
    /// Hands over pages as they come, the first one at once, until the closure returns false or the stopper stops.
    ///
    /// - Throws: refused `erased` when the person is erased whose feed it is.
    func follow(
        after position: FeedPosition, stopper: Stopper, _ body: (FeedPage) async throws -> Bool) async throws
}

extension Feed {
    /// The seq of an offset of this store, which may be below the floor, beyond the head, or from before a restore.
    package func seq(_ offset: FeedOffset) async throws -> Seq {
        try checkHistory(of: offset)
        let refusal: Refusal
        do {
            return try await store.log.seq(of: .seq(offset.seq))
        } catch TraylogError.refused(let reason) {
            refusal = reason
        }
        switch refusal {
        case .compacted(let floor, _): throw compacted(offset, floor)
        case .upToBeyondHead where !isOfCluster:
            throw gone("rewound", "it is beyond the head: the store was restored from a backup", nil)
        default: throw refusal
        }
    }

    private func checkHistory(of offset: FeedOffset) throws(Problem) {
        guard !history.holds(offset.history, at: offset.seq) else { return }
        var first: FeedOffset?
        if let last = history.lastShared(with: offset.history) {
            first = self.offset(FeedPosition(of: offset, min(last, offset.seq)))
        }
        throw gone("rewound", "event \(offset.seq) was lost when the store was restored from a copy", first)
    }

    private func compacted(_ offset: FeedOffset, _ floor: Seq) -> Problem {
        var problem = gone(
            "compacted", "the events after it have left the log", self.offset(FeedPosition(of: offset, floor)))
        problem.members.insert(("floor", JSONValue(floor)), at: 0)
        return problem
    }

    /// - Parameter first: where the feed can be read instead.
    package func gone(_ error: String, _ detail: String, _ first: FeedOffset?) -> Problem {
        var problem = Problem(.gone, "Gone", "this offset cannot be read: \(detail)", error: error)
        if let first { problem.members = [("offset", .string(first.description))] }
        return problem
    }
}

extension FeedPosition {
    fileprivate init(of offset: FeedOffset, _ seq: Seq) {
        self.init(seq: seq)
        if case .user(let stream) = offset.feed { self.stream = stream }
    }
}

/// What happened to one user.
///
/// It is one person's: each answer says whose stream it was read from, in one snapshot of the store, and nothing of another
/// stream is shown to a reader who began with this one.
struct UserFeed: Feed {
    let store: Store
    let isOfCluster: Bool
    let history: StoreHistory
    private let user: String
    private let identity: String
    private let authenticator: Authenticator

    init(_ call: Call) {
        (store, isOfCluster, history) = (call.store, call.service.cluster != nil, call.service.history)
        (user, identity) = (call.user, call.service.storeIdentity)
        authenticator = call.service.authenticator
    }

    func offset(_ position: FeedPosition) -> FeedOffset {
        FeedOffset(store: identity, feed: .user(position.stream), seq: position.seq, in: history)
    }

    func start(_ text: String?) async throws -> FeedPosition {
        let stream = try await store.version(of: user).stream
        switch text {
        case nil, "-1":
            let beginning = FeedPosition(seq: .zero, stream: stream)
            return FeedPosition(seq: try await seq(offset(beginning)), stream: stream)
        case "now": return FeedPosition(seq: try await store.log.head(), stream: stream)
        case let text?:
            guard let offset = FeedOffset(text), offset.store == identity, case .user(let owner) = offset.feed else {
                throw Problem.invalid("offset", "is not of this feed")
            }
            if owner != stream {
                if owner != 0, try await store.isErased(stream: owner) {
                    throw gone("erased", "its person was erased", nil)
                }
                // Given out before the user's first event: right as long as none came before it.
                guard owner == 0 else { throw Problem.invalid("offset", "is not of this feed") }
                try await checkNobodyCame(after: offset.seq)
            }
            return FeedPosition(seq: try await seq(offset), stream: stream)
        }
    }

    /// Refuses an offset from a time when nobody had the name, if somebody had it since or before.
    private func checkNobodyCame(after seq: Seq) async throws {
        if let erasedAt = authenticator.lastErasure(of: user), try await store.log.seq(of: .time(erasedAt)) > seq {
            throw gone("erased", "somebody who had the name meanwhile was erased", nil)
        }
        guard let first = try await store.history(of: user, limit: 1).elements.first, first.seq <= seq else { return }
        throw Problem.invalid("offset", "is not of this feed")
    }

    func page(after position: FeedPosition) async throws -> FeedPage {
        let changes = try await store.changes(of: user, after: position.seq, limit: FeedRoutes.pageEvents)
        guard position.stream == 0 || changes.stream == position.stream else { throw Refusal.erased(user: user) }
        return FeedPage(changes)
    }

    func follow(
        after position: FeedPosition, stopper: Stopper, _ body: (FeedPage) async throws -> Bool
    ) async throws {
        let following = store.followChanges(
            of: user, after: position.seq, stream: position.stream, stopper: stopper)
        for try await changes in following {
            var page = FeedPage(changes)
            guard try await body(page) else { return }
            // What did not fit comes before the next change.
            while page.position.seq < changes.through {
                page = try await self.page(after: page.position)
                guard try await body(page) else { return }
            }
        }
    }
}

extension FeedPage {
    fileprivate init(_ changes: Changes) {
        self.init(
            changes.events, through: FeedPosition(seq: changes.through, stream: changes.stream),
            isAtHead: changes.isComplete)
    }
}

/// The log, or those of its events that match a filter.
struct LogFeed: Feed {
    let store: Store
    let isOfCluster: Bool
    let history: StoreHistory
    private let identity: String
    private let filter: EventFilter
    private let limits: NameLimits?
    private let reader: Reader

    init(_ call: Call) throws {
        limits = call.limits
        reader = try call.reader(isOfOne: call.query["user"] != nil)
        (store, isOfCluster, history) = (call.store, call.service.cluster != nil, call.service.history)
        identity = call.service.storeIdentity
        var filter = EventFilter()
        (filter.user, filter.actor) = (try call.name("user"), try call.name("actor"))
        filter.device = try call.name("device")
        for name in call.query["kind"]?.split(separator: ",", omittingEmptySubsequences: false) ?? [] {
            guard let kind = EventKind(rawValue: String(name)) else {
                throw Problem.invalid("kind", "is not a kind of event")
            }
            filter.kinds.insert(kind)
        }
        self.filter = filter
    }

    func offset(_ position: FeedPosition) -> FeedOffset {
        FeedOffset(store: identity, feed: .log, seq: position.seq, in: history)
    }

    func start(_ text: String?) async throws -> FeedPosition {
        switch text {
        case nil, "-1": return FeedPosition(seq: try await seq(offset(FeedPosition(seq: .zero))))
        case "now": return FeedPosition(seq: try await store.log.head())
        case let text?:
            guard let offset = FeedOffset(text), offset.store == identity, offset.feed == .log else {
                throw Problem.invalid("offset", "is not of this feed")
            }
            return FeedPosition(seq: try await seq(offset))
        }
    }

    func page(after position: FeedPosition) async throws -> FeedPage {
        let (seq, head) = (position.seq, try await store.log.head())
        guard seq < head else { return FeedPage([], through: position, isAtHead: true) }
        let found = try await store.log.events(matching: filter, from: seq + 1, limit: FeedRoutes.pageEvents)
        let events = found.elements.filter { $0.seq <= head && limits?.admits($0) ?? true }
        try await reader.record(events)
        guard let next = found.next, next <= head else {
            return FeedPage(events, through: FeedPosition(seq: head), isAtHead: true)
        }
        return FeedPage(events, through: FeedPosition(seq: next - 1), isAtHead: false)
    }

    func follow(
        after position: FeedPosition, stopper: Stopper, _ body: (FeedPage) async throws -> Bool
    ) async throws {
        var through = position
        repeat {
            let page = try await page(after: through)
            guard try await body(page) else { return }
            through = page.position
            if !page.isAtHead { continue }
            // Something new is committed, whatever it is.
            var isNew = false
            for try await _ in store.follow(from: through.seq + 1, stopper: stopper) {
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
