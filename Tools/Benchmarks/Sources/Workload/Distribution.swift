/// The frequency with which each user comes up.
enum Distribution: String, Sendable {
    /// Rank k in proportion to 1 / (k + 1); ranks are spread over the users, as they are in life.
    case zipf
    case uniform
    /// Nine events of ten are user 0's, the others anybody's.
    case heavy
}

/// Users in the order of the log; bench.c has the same.
struct UserSequence: Sendable {
    let users: Int
    private let distribution: Distribution
    private let cumulated: [Double]
    private var count = 0

    init(users: Int, _ distribution: Distribution) {
        self.users = users
        self.distribution = distribution
        var sum = 0.0
        cumulated =
            distribution == .zipf
            ? (0..<users).map { rank in
                sum += 1 / Double(rank + 1)
                return sum
            } : []
    }

    mutating func next(_ random: inout SplitMix64) -> Int {
        defer { count += 1 }
        switch distribution {
        case .zipf: return (rank(&random) * 61_803 + 7) % users
        case .uniform: return Int(random.next() % UInt64(users))
        case .heavy:
            let user = Int(random.next() % UInt64(users))
            return count % 10 == 0 ? user : 0
        }
    }

    private func rank(_ random: inout SplitMix64) -> Int {
        let point = Double(random.next() >> 11) * 0x1p-53 * cumulated[users - 1]
        var low = 0
        var high = users - 1
        while low < high {
            let middle = (low + high) / 2
            if cumulated[middle] <= point { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
