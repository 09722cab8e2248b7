/// SplitMix64: the same seed gives the same numbers everywhere.
struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }

    /// Numbers of every length, so that varints of every length occur.
    mutating func number() -> UInt64 { next() >> UInt64.random(in: 0..<64, using: &self) }

    mutating func maybe<Value>(_ make: (inout Seeded) -> Value) -> Value? {
        Bool.random(using: &self) ? make(&self) : nil
    }
}
