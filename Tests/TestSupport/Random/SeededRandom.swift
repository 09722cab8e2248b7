/// Random numbers that only depend on the seed: SplitMix64 (Steele, Lea, Flood, 2014).
///
/// The same seed gives the same history on every platform and in every release.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

// The standard library's `random(in:using:)` may change how it uses the bits; these never do.
extension SeededRandom {
    /// A number in `0..<bound`; the bias of the remainder does not matter for tests.
    package mutating func below(_ bound: Int) -> Int {
        precondition(bound > 0, "nothing is below \(bound)")
        return Int(next() % UInt64(bound))
    }

    package mutating func between(_ low: Int, _ high: Int) -> Int { low + below(high - low + 1) }

    /// True in `percent` of 100 cases.
    package mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    package mutating func pick<Value>(_ values: [Value]) -> Value { values[below(values.count)] }

    /// One of the values, each as often as its weight says.
    package mutating func pick<Value>(weighted values: [(Value, Int)]) -> Value {
        var left = below(values.reduce(0) { $0 + $1.1 })
        for (value, weight) in values {
            if left < weight { return value }
            left -= weight
        }
        preconditionFailure("the weights add up to what was drawn from")
    }
}
