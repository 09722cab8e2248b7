import TraylogDomain
import TraylogLog

extension SeededRandom {
    package mutating func identity() -> Identity { Identity(rawValue: next()) }

    package mutating func stream(_ least: Int, _ most: Int) -> StreamID {
        StreamID(rawValue: UInt32(between(least, most)))
    }
}

/// Tests name strings by small numbers.
extension Identity: ExpressibleByIntegerLiteral {
    @inlinable package init(integerLiteral value: UInt64) { self.init(rawValue: value) }
}

extension StreamID: ExpressibleByIntegerLiteral {
    @inlinable package init(integerLiteral value: UInt32) { self.init(rawValue: value) }
}
