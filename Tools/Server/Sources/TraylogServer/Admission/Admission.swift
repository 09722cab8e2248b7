import NIOCore
import Synchronization

/// How much one caller, or one address without credentials, may have of the server at the same time.
///
/// A request is admitted as soon as its caller is known, and holds its place until its answer was handed to the connection. What
/// waits for it in memory counts, too: the body that has come, and the answer that is not sent. So no caller takes the others'
/// connections, memory or disk, whatever it does not read or does not finish sending.
package final class Admission: Sendable {
    /// The limits, as metrics name them.
    package enum Kind: String, CaseIterable, Sendable {
        case requests, streams, bytes, connections, head, body, rate
    }

    package struct Limits: Sendable {
        /// Requests under way.
        let requests: Int
        /// Of these, live streams and long polls.
        let streams: Int
        /// Bytes of bodies and answers that wait.
        let bytes: Int

        /// An address without valid credentials.
        static let nobody = Limits(requests: 100, streams: 0, bytes: 16 << 20)
        static let user = Limits(requests: 200, streams: 100, bytes: 32 << 20)
        /// A server key stands for all users of an app.
        static let key = Limits(requests: 20_000, streams: 10_000, bytes: 256 << 20)
    }

    /// Bytes that wait for all callers together.
    static let mostBytes = 512 << 20

    private struct Account {
        var requests = 0
        var streams = 0
        var bytes = 0
        var isEmpty: Bool { requests == 0 && bytes == 0 }
    }

    private struct State {
        var accounts: [String: Account] = [:]
        var bytes = 0
    }

    private let state = Mutex(State())
    package let rates: RateLimits
    package let connections: Connections
    private let metrics: ServerMetrics

    package init(rates: RateLimits, metrics: ServerMetrics, isBehindProxy: Bool) {
        (self.rates, self.metrics) = (rates, metrics)
        connections = Connections(countsOwners: !isBehindProxy, metrics: metrics)
    }

    /// The place of a request; nil for another node, which is the server's own.
    ///
    /// - Throws: ``Problem`` 429.
    package func admit(_ caller: Caller) throws(Problem) -> Place? {
        guard let limits = caller.limitsOfUse else { return nil }
        let account = caller.account
        let isAdmitted = state.withLock { state in
            let requests = state.accounts[account]?.requests ?? 0
            guard requests < limits.requests else { return false }
            state.accounts[account, default: Account()].requests = requests + 1
            return true
        }
        guard isAdmitted else {
            throw refusal(.requests, "\(limits.requests) requests of this caller are under way: wait for their answers")
        }
        return Place(self, account, limits)
    }

    /// Notes that a request on a connection had valid credentials.
    ///
    /// - Throws: ``Problem`` 429 where the caller has as many connections as one may.
    package func vouch(for channel: any Channel, as caller: Caller) throws(Problem) {
        guard !connections.vouch(for: channel, as: caller) else { return }
        var problem = refusal(
            .connections, "this caller has \(Connections.mostOfOneUser) connections: use those, or close some of them")
        problem.headers[.connection] = "close"
        throw problem
    }

    func refusal(_ kind: Kind, _ detail: String) -> Problem {
        metrics.note(limit: kind)
        var problem = Problem(.tooManyRequests, "Too many requests", detail, error: "limit")
        problem.headers[.retryAfter] = "1"
        return problem
    }

    /// Counts a refusal that another place has the words for.
    package func note(_ kind: Kind) { metrics.note(limit: kind) }

    fileprivate func beginStream(_ account: String, _ limits: Limits) throws(Problem) {
        let isAdmitted = state.withLock { state in
            let streams = state.accounts[account]?.streams ?? 0
            guard streams < limits.streams else { return false }
            state.accounts[account]?.streams = streams + 1
            return true
        }
        guard isAdmitted else {
            throw refusal(.streams, "this caller has \(limits.streams) live answers: end some of them first")
        }
    }

    fileprivate func endStream(_ account: String) { state.withLock { $0.accounts[account]?.streams -= 1 } }

    fileprivate func hold(_ bytes: Int, _ account: String, _ limits: Limits) throws(Problem) {
        let isAdmitted = state.withLock { state in
            let held = state.accounts[account]?.bytes ?? 0
            guard held + bytes <= limits.bytes, state.bytes + bytes <= Self.mostBytes else { return false }
            state.accounts[account]?.bytes = held + bytes
            state.bytes += bytes
            return true
        }
        guard isAdmitted else {
            throw refusal(
                .bytes, "too many bytes wait for this caller: read the answers, or send fewer bodies at a time")
        }
    }

    fileprivate func release(_ bytes: Int, _ account: String) {
        state.withLock { state in
            state.accounts[account]?.bytes -= bytes
            state.bytes -= bytes
        }
    }

    fileprivate func end(_ account: String, _ bytes: Int) {
        state.withLock { state in
            state.bytes -= bytes
            guard var own = state.accounts[account] else { return }
            own.requests -= 1
            own.bytes -= bytes
            state.accounts[account] = own.isEmpty ? nil : own
        }
    }

    /// Whether every place and byte was given back, for tests.
    package var isIdle: Bool { state.withLock { $0.accounts.isEmpty && $0.bytes == 0 } }

    /// One request's place, which is given back when the last reference to it goes: with its answer, sent or not.
    package final class Place: Sendable {
        private let admission: Admission
        private let account: String
        private let limits: Limits
        private let bytes = Mutex(0)

        fileprivate init(_ admission: Admission, _ account: String, _ limits: Limits) {
            (self.admission, self.account, self.limits) = (admission, account, limits)
        }

        deinit { admission.end(account, bytes.withLock { $0 }) }

        /// Counts bytes that wait, of a body or an answer, until the place is given back.
        ///
        /// - Throws: ``Problem`` 429.
        package func hold(_ count: Int) throws(Problem) {
            try admission.hold(count, account, limits)
            bytes.withLock { $0 += count }
        }

        /// Gives bytes back before the place is.
        package func release(_ count: Int) {
            bytes.withLock { $0 -= count }
            admission.release(count, account)
        }

        /// Counts a live stream or a long poll, as long as its result lives.
        ///
        /// - Throws: ``Problem`` 429.
        func beginStream() throws(Problem) -> Stream {
            try admission.beginStream(account, limits)
            return Stream(self)
        }

        final class Stream: Sendable {
            private let place: Place

            fileprivate init(_ place: Place) { self.place = place }

            deinit { place.admission.endStream(place.account) }
        }
    }
}

extension Caller {
    /// The limits of the caller; nil for a node of the cluster.
    fileprivate var limitsOfUse: Admission.Limits? {
        switch self {
        case .key: .key
        case .user: .user
        case .nobody: .nobody
        case .node: nil
        }
    }
}
