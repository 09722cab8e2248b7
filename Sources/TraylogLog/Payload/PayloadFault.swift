/// What is wrong with a payload; the decoder adds whose it is (``CodecError``).
package enum PayloadFault: Error, Hashable, Sendable {
    /// A field goes on behind the end of the payload.
    case truncated
    /// No field of a Protocol Buffers message begins here.
    case malformed(offset: Int)
    /// The field is there, but its value cannot be one.
    case badValue(FieldNumber)
    case badText(FieldNumber)
    case missing(FieldNumber)
    /// Two fields that exclude each other.
    case contradiction(FieldNumber, FieldNumber)
    /// A value that a later version must have given a meaning.
    case newerValue(FieldNumber, UInt64)
    /// The kind of the event is none that this version knows.
    case newerKind(UInt8)
    case erased
}

extension CodecError {
    package init(_ fault: PayloadFault, seq: UInt64) {
        switch fault {
        case .truncated:
            self.init(.truncated, seq: seq, "its payload ends inside of a field")
        case .malformed(let offset):
            self.init(.damaged, seq: seq, "no field begins at byte \(offset) of its payload")
        case .badValue(let field):
            self.init(.damaged, seq: seq, "the value of its field `\(field)` cannot be one")
        case .badText(let field):
            self.init(.damaged, seq: seq, "its field `\(field)` is not UTF-8")
        case .missing(let field):
            self.init(.damaged, seq: seq, "its field `\(field)` is missing")
        case .contradiction(let first, let second):
            self.init(.damaged, seq: seq, "its fields `\(first)` and `\(second)` exclude each other")
        case .newerValue(let field, let value):
            self.init(.newer, seq: seq, "its field `\(field)` has the value \(value)")
        case .newerKind(let number):
            self.init(.newer, seq: seq, "its kind has the number \(number)")
        case .erased:
            self.init(.erased, seq: seq, "only its kind and times are left")
        }
    }
}
