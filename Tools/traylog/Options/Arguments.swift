import ArgumentParser
@_spi(Wire) import Traylog

extension Seq: @retroactive ExpressibleByArgument {}

@_spi(Wire) extension WireNumber: @retroactive ExpressibleByArgument {
    /// Reads decimal digits.
    public init?(argument: String) { self.init(argument) }

    /// The value of an option as a number of the program.
    ///
    /// - Throws: `ValidationError` with the bounds.
    func of<Number: FixedWidthInteger>(_ option: String, within bounds: ClosedRange<Number>) throws -> Number {
        if let number = within(bounds) { return number }
        let range =
            bounds.upperBound == .max ? "\(bounds.lowerBound) or more" : "\(bounds.lowerBound) to \(bounds.upperBound)"
        throw ValidationError("'\(option)' takes \(range), not \(self).")
    }
}

extension Cursor: @retroactive ExpressibleByArgument {
    /// Reads the text of a cursor.
    public init?(argument: String) { self.init(argument) }
}

extension Timestamp: @retroactive ExpressibleByArgument {
    /// RFC 3339, or a local date or time as the tables print it.
    public init?(argument: String) {
        guard let time = Timestamp(local: argument) else { return nil }
        self = time
    }
}

extension ItemReference {
    /// All digits are a seq, anything else is a key.
    init(argument: String, isKey: Bool) throws {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard !isKey, !argument.isEmpty, argument.utf8.allSatisfy(digits.contains) else {
            self = .key(argument)
            return
        }
        guard let seq = Seq(argument) else {
            throw ValidationError("The seq '\(argument)' is too large; to read it as a key, add '--keys'.")
        }
        self = .seq(seq)
    }
}
