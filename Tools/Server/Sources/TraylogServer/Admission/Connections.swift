import NIOCore
import Synchronization

/// The connections that are open, and whose they are.
///
/// Until a request with valid credentials comes, a connection is a stranger's. It costs nothing to open, so strangers share a bounded
/// part of all, and each address has a bounded part of that. Where a new connection exceeds a bound, the stranger who is there longest
/// has to go: a caller with credentials is let in, however many strangers are connected.
package final class Connections: Sendable {
    /// All that the server takes.
    static let most = 10_000
    static let mostStrangers = 8_000
    static let mostOfOneAddress = 1_000
    static let mostOfOneUser = 250

    private enum Owner: Hashable {
        case address(CallerAddress)
        case account(String)

        var isStranger: Bool { if case .address = self { true } else { false } }
    }

    private struct Connection {
        let number: UInt64
        let channel: any Channel
        var owner: Owner
    }

    private struct State {
        var next: UInt64 = 0
        /// By the channel's identity.
        var open: [ObjectIdentifier: Connection] = [:]
        var counts: [Owner: Int] = [:]
        var strangers = 0

        mutating func count(_ owner: Owner, by change: Int) {
            let count = (counts[owner] ?? 0) + change
            counts[owner] = count > 0 ? count : nil
            if owner.isStranger { strangers += change }
        }

        mutating func remove(_ id: ObjectIdentifier) {
            if let connection = open.removeValue(forKey: id) { count(connection.owner, by: -1) }
        }

        /// Takes out the connection that was opened first, of those of an owner or of all strangers.
        mutating func removeOldest(of owner: Owner?) -> (any Channel)? {
            let candidates = open.values.filter { owner == nil ? $0.owner.isStranger : $0.owner == owner }
            guard let oldest = candidates.min(by: { $0.number < $1.number }) else { return nil }
            remove(ObjectIdentifier(oldest.channel))
            return oldest.channel
        }
    }

    private let state = Mutex(State())
    private let countsOwners: Bool
    private let metrics: ServerMetrics

    /// - Parameter countsOwners: not behind a proxy, which opens all connections and puts requests of many callers on each.
    init(countsOwners: Bool, metrics: ServerMetrics) { (self.countsOwners, self.metrics) = (countsOwners, metrics) }

    func opened(_ channel: any Channel) {
        let owner = Owner.address(CallerAddress(channel.remoteAddress))
        let surplus = state.withLock { state -> (any Channel)? in
            state.next += 1
            state.open[ObjectIdentifier(channel)] = Connection(number: state.next, channel: channel, owner: owner)
            state.count(owner, by: 1)
            if countsOwners, state.counts[owner] ?? 0 > Self.mostOfOneAddress { return state.removeOldest(of: owner) }
            return state.strangers > Self.mostStrangers ? state.removeOldest(of: nil) : nil
        }
        close(surplus)
    }

    func closed(_ channel: any Channel) { state.withLock { $0.remove(ObjectIdentifier(channel)) } }

    /// A request on this connection had valid credentials: it is no stranger's any more.
    ///
    /// - Returns: false where the caller has as many connections as one may; then it stays a stranger's.
    func vouch(for channel: any Channel, as caller: Caller) -> Bool {
        state.withLock { state in
            // With HTTP/2 a request has a channel of its own, whose parent is the connection.
            let ids = [ObjectIdentifier(channel)] + (channel.parent.map { [ObjectIdentifier($0)] } ?? [])
            guard let id = ids.first(where: { state.open[$0]?.owner.isStranger ?? false }),
                let before = state.open[id]?.owner
            else { return true }
            let owner = Owner.account(caller.account)
            if countsOwners, case .user = caller, state.counts[owner] ?? 0 >= Self.mostOfOneUser { return false }
            state.count(before, by: -1)
            state.count(owner, by: 1)
            state.open[id]?.owner = owner
            return true
        }
    }

    private func close(_ surplus: (any Channel)?) {
        guard let surplus else { return }
        metrics.note(limit: .connections)
        surplus.close(promise: nil)
    }
}
