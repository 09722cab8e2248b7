import Synchronization

/// A bucket of requests for each key and user: so many a minute, all of which may come at once.
package final class RateLimits: Sendable {
    package struct Standing: Sendable {
        package let limit: Int
        let remaining: Int
        /// Until the next request may come, or the bucket is full.
        package let resetSeconds: Int
        package let isAllowed: Bool
    }

    private struct Bucket {
        var tokens: Double
        var filledAt: ContinuousClock.Instant
    }

    /// The highest limit that can be set, in requests a minute.
    static let most = 1_000_000
    /// Callers that are remembered; others share a bucket until some of these are full again.
    private static let mostBuckets = 100_000
    private static let sweepEvery = Duration.seconds(5)
    private static let others = "others"

    private struct State {
        var buckets: [String: Bucket] = [:]
        var sweptAt: ContinuousClock.Instant?
    }

    private let perUser: Int
    private let perKey: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - perUser: requests a minute, 0 for no limit, at most a million.
    ///   - perKey: the same of a server key.
    package init(perUser: Int, perKey: Int) {
        self.perUser = min(max(perUser, 0), Self.most)
        self.perKey = min(max(perKey, 0), Self.most)
    }

    /// Takes one request from the caller's bucket; nil where there is no limit.
    package func take(_ caller: Caller, now: ContinuousClock.Instant = .now) -> Standing? {
        let limit =
            switch caller {
            case .key: perKey
            case .user, .nobody: perUser
            case .node: 0
            }
        guard limit > 0 else { return nil }
        let rate = Double(limit) / 60
        return state.withLock { state in
            if state.buckets.count >= Self.mostBuckets, state.sweptAt.map({ now - $0 >= Self.sweepEvery }) ?? true {
                // What is full by now is as if it had never been.
                state.buckets = state.buckets.filter { now - $0.value.filledAt < .seconds(60) }
                state.sweptAt = now
            }
            let isKnown = state.buckets[caller.account] != nil || state.buckets.count < Self.mostBuckets
            let account = isKnown ? caller.account : Self.others
            var bucket = state.buckets[account] ?? Bucket(tokens: Double(limit), filledAt: now)
            let elapsed = (now - bucket.filledAt) / .seconds(1)
            bucket.tokens = min(Double(limit), bucket.tokens + elapsed * rate)
            bucket.filledAt = now
            let isAllowed = bucket.tokens >= 1
            if isAllowed { bucket.tokens -= 1 }
            state.buckets[account] = bucket
            let missing = isAllowed ? Double(limit) - bucket.tokens : 1 - bucket.tokens
            return Standing(
                limit: limit, remaining: Int(bucket.tokens), resetSeconds: max(1, Int((missing / rate).rounded(.up))),
                isAllowed: isAllowed)
        }
    }
}
