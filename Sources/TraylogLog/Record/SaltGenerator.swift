import TraylogDomain

/// Salts at less than a tenth of the cost of asking the system for each: SipHash-2-4 over a counter, under a key that was
/// drawn when the generator was made and is never stored.
///
/// Who does not have the key cannot tell the numbers from random ones, nor compute one from the others.
package struct SaltGenerator: RandomNumberGenerator, Sendable {
    private let key0: UInt64
    private let key1: UInt64
    private var counter: UInt64 = 0

    /// Draws the key from `source`, by default the system's.
    package init(from source: inout some RandomNumberGenerator) {
        key0 = source.next()
        key1 = source.next()
    }

    package init() {
        var system = SystemRandomNumberGenerator()
        self.init(from: &system)
    }

    package mutating func next() -> UInt64 {
        counter &+= 1
        var block: InlineArray<8, UInt8> = InlineArray(repeating: 0)
        for index in 0..<8 { block[index] = UInt8(truncatingIfNeeded: counter >> UInt64(8 * index)) }
        return SipHash24.hash(block.span, key0: key0, key1: key1)
    }
}
