import TraylogDomain

extension SeededRandom {
    package mutating func identity() -> Identity { Identity(rawValue: next()) }
}

/// Tests name strings by small numbers.
extension Identity: ExpressibleByIntegerLiteral {
    package init(integerLiteral value: UInt64) { self.init(rawValue: value) }
}
