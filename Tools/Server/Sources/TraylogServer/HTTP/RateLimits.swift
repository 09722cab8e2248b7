import Synchronization

/// A bucket of requests for each key and user: so many a minute, all of which may come at once.
package final class RateLimits: Sendable {
    package struct Standing: Sendable {
        package let limit: Int
        let remaining: Int
        /// Until the next request may come, or the bucket is full.
        let resetSeconds: Int
        let isAllowed: Bool
    }

    private struct Bucket {
        var tokens: Double
        var filledAt: ContinuousClock.Instant
    }

    private let perUser: Int
    private let perKey: Int
    private let buckets = Mutex<[String: Bucket]>([:])

    init(perUser: Int, perKey: Int) {
        self.perUser = perUser
        self.perKey = perKey
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
        return buckets.withLock { buckets in
            if buckets.count > 100_000 { buckets = buckets.filter { now - $0.value.filledAt < .seconds(60) } }
            var bucket = buckets[caller.account] ?? Bucket(tokens: Double(limit), filledAt: now)
            let elapsed = (now - bucket.filledAt) / .seconds(1)
            bucket.tokens = min(Double(limit), bucket.tokens + elapsed * rate)
            bucket.filledAt = now
            let isAllowed = bucket.tokens >= 1
            if isAllowed { bucket.tokens -= 1 }
            buckets[caller.account] = bucket
            let missing = isAllowed ? Double(limit) - bucket.tokens : 1 - bucket.tokens
            return Standing(
                limit: limit, remaining: Int(bucket.tokens), resetSeconds: max(1, Int((missing / rate).rounded(.up))),
                isAllowed: isAllowed)
        }
    }
}
