import TraylogLog

/// A set of numbers that is visited in order: one bit a number, up to the greatest.
///
/// Without `@usableFromInline` here, no other module would see into its functions, inlinable or not.
@usableFromInline
package struct NumberSet<Number: FixedWidthInteger & UnsignedInteger & Sendable>: Sendable {
    @usableFromInline var words: [UInt64] = []
    /// How many members there are.
    @usableFromInline package var count = 0

    @inlinable package init() {}

    @inlinable
    package mutating func insert(_ number: Number) {
        let word = Int(number / 64)
        if word >= words.count {
            words.append(contentsOf: repeatElement(0, count: max(word + 1, words.count * 2) - words.count))
        }
        let bit: UInt64 = 1 << UInt64(number % 64)
        if words[word] & bit == 0 { count += 1 }
        words[word] |= bit
    }

    @inlinable
    package mutating func remove(_ number: Number) {
        guard contains(number) else { return }
        count -= 1
        words[Int(number / 64)] &= ~(1 << UInt64(number % 64))
    }

    @inlinable
    package func contains(_ number: Number) -> Bool {
        let word = Int(number / 64)
        return word < words.count && words[word] & (1 << UInt64(number % 64)) != 0
    }

    /// The smallest member at or above `number`.
    @inlinable
    package func next(from number: Number) -> Number? {
        var word = Int(number / 64)
        guard word < words.count else { return nil }
        var bits = words[word] & (.max << UInt64(number % 64))
        while bits == 0 {
            word += 1
            guard word < words.count else { return nil }
            bits = words[word]
        }
        return Number(word * 64 + bits.trailingZeroBitCount)
    }
}

/// Some streams.
@usableFromInline
package struct StreamSet: Sendable {
    @usableFromInline var numbers = NumberSet<UInt32>()

    @inlinable package init() {}

    @inlinable package var count: Int { numbers.count }

    @inlinable package mutating func insert(_ stream: StreamID) { numbers.insert(stream.rawValue) }

    @inlinable package mutating func remove(_ stream: StreamID) { numbers.remove(stream.rawValue) }

    @inlinable package func contains(_ stream: StreamID) -> Bool { numbers.contains(stream.rawValue) }

    /// The first member from `stream` on.
    @inlinable
    package func next(from stream: StreamID) -> StreamID? {
        numbers.next(from: stream.rawValue).map(StreamID.init(rawValue:))
    }
}

/// Some events.
package typealias SeqSet = NumberSet<UInt64>
