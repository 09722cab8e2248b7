import TestSupport

extension SeededRandom {
    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }

    /// Numbers of every length, so that varints of every length occur.
    mutating func number() -> UInt64 { next() >> UInt64.random(in: 0..<64, using: &self) }

    mutating func maybe<Value>(_ make: (inout SeededRandom) -> Value) -> Value? {
        Bool.random(using: &self) ? make(&self) : nil
    }
}
