import TestSupport
@_spi(Operations) import Traylog
import TraylogAudit
import TraylogCluster

/// The simulated log and lease for nodes that run: messages and answers get lost as a seed says, and late as the machine likes.
actor FaultyLog: ReplicatedLog, OwnershipLease {
    nonisolated let name = "TRAY"
    nonisolated let largestBody: Int
    nonisolated let duration = Duration.milliseconds(400)
    private(set) var log = SimulatedLog()
    private var lease = SimulatedLease()
    private var random: SeededRandom
    private let begin = ContinuousClock.now
    var lossPercent = 0
    var isReachable = true

    init(seed: UInt64 = 0, largestBody: Int = 1 << 20) {
        random = SeededRandom(seed: seed)
        self.largestBody = largestBody
    }

    func set(lossPercent: Int) { self.lossPercent = lossPercent }
    func set(isReachable: Bool) { self.isReachable = isReachable }
    func trim(below place: LogPosition) { log.trim(below: place) }
    func damage(_ place: LogPosition) { log.damage(place) { $0.body[$0.body.count / 2] ^= 1 } }

    /// The simulated lease counts in hundredths of its duration.
    private var now: Int { Int((ContinuousClock.now - begin) / duration * Double(SimulatedLease.duration)) }

    private func isLost() -> Bool { !isReachable || random.chance(lossPercent) }

    func publish(id: String, root: MerkleHash, body: [UInt8], expecting last: LogPosition) async -> PublishOutcome {
        if isLost() { return .unknown(reason: "lost on its way") }
        try? await Task.sleep(for: .microseconds(random.below(500)))
        let outcome = log.publish(
            LogMessage(position: last.next, id: id, root: root, body: body), expecting: last)
        return isLost() ? .unknown(reason: "no answer") : outcome
    }

    func message(at position: LogPosition) async throws(LogUnreachable) -> LogMessage? {
        if isLost() { throw LogUnreachable("cut off") }
        return log.message(at: position)
    }

    func messages(
        after position: LogPosition, limit: Int, wait: Duration
    ) async throws(LogUnreachable) -> [LogMessage] {
        let end = ContinuousClock.now + wait
        while true {
            if isLost() { throw LogUnreachable("cut off") }
            let found = Array(log.messages(after: position, limit: limit))
            guard found.isEmpty, ContinuousClock.now < end, !Task.isCancelled else { return found }
            try? await Task.sleep(for: .milliseconds(2))
        }
    }

    func bounds() async throws(LogUnreachable) -> LogBounds {
        if isLost() { throw LogUnreachable("cut off") }
        return log.bounds
    }

    func acquire(node: String, url: String) async -> Ownership? {
        guard !isLost(), var ownership = lease.acquire(node, at: now) else { return nil }
        ownership.url = url
        return ownership
    }

    func renew(_ ownership: Ownership) async -> Ownership? {
        !isLost() && lease.renew(ownership, at: now) ? ownership : nil
    }

    func release(_ ownership: Ownership) async { lease.release(ownership) }
    func current() async -> Ownership? { isReachable ? lease.current(at: now) : nil }

    /// Lets another node have it at once.
    func breakLease() { if let holder = lease.current(at: now) { lease.release(holder) } }
}
