import TraylogDomain

/// Stored bytes that cannot be read as an event.
///
/// A failure, never a refusal.
package struct CodecError: Error, Hashable, Sendable {
    package enum Code: Hashable, Sendable {
        /// The bytes are not those that were written: run `traylog verify`, then restore a backup.
        case damaged
        /// There are fewer bytes than their header says: run `traylog verify`, then restore a backup.
        case truncated
        /// A newer Traylog wrote the event: open the store with that version.
        case newer
        /// The payload was erased on purpose; only header and digest are left.
        case erased
    }

    package let code: Code
    /// The event; nil when the caller did not say.
    package let seq: UInt64?
    /// The cause, without advice.
    package let reason: String

    package init(_ code: Code, seq: UInt64?, _ reason: String) {
        self.code = code
        self.seq = seq
        self.reason = reason
    }

    /// The cause, and what to do about it.
    package var message: String {
        let subject = seq.map { "event \($0)" } ?? "an event"
        return switch code {
        case .damaged, .truncated:
            "\(subject) is damaged: \(reason); run `traylog verify`, then restore a backup"
        case .newer:
            "\(subject) was written by a newer version of Traylog: \(reason); open the store with that version"
        case .erased:
            "the content of \(subject) was erased: \(reason)"
        }
    }
}

extension CodecError {
    /// - Parameter stream: nil where nobody knows its number.
    package init(_ fault: RevisionFault, stream: StreamID?) {
        let place = stream.map { "stream \($0)" } ?? "its stream"
        self.init(
            .damaged, seq: fault.seq,
            "it has revision \(fault.found) in \(place), where revision \(fault.expected) comes next")
    }
}

extension CodecError: CustomStringConvertible {
    package var description: String { message }
}

/// A payload that cannot be decoded.
///
/// The decoder adds the event (``CodecError``).
package enum PayloadFault: Error, Hashable, Sendable {
    /// A field extends beyond the end of the payload.
    case truncated
    /// No field of a Protocol Buffers message begins at this offset.
    case malformed(offset: Int)
    /// The value of the field is out of range, or of another wire type.
    case badValue(FieldNumber)
    case badText(FieldNumber)
    /// The time lies outside of the years 0000 to 9999.
    case badTime(FieldNumber)
    case missing(FieldNumber)
    /// Two fields exclude each other.
    case contradiction(FieldNumber, FieldNumber)
    /// Only a later version can give the value a meaning.
    case newerValue(FieldNumber, UInt64)
    /// This version does not know the kind of the event.
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
            self.init(.damaged, seq: seq, "its field `\(field)` has an impossible value")
        case .badText(let field):
            self.init(.damaged, seq: seq, "its field `\(field)` is not UTF-8")
        case .badTime(let field):
            self.init(.damaged, seq: seq, "its field `\(field)` lies outside of the years 0000 to 9999")
        case .missing(let field):
            self.init(.damaged, seq: seq, "its field `\(field)` is missing")
        case .contradiction(let first, let second):
            self.init(.damaged, seq: seq, "its fields `\(first)` and `\(second)` cannot both be there")
        case .newerValue(let field, let value):
            self.init(.newer, seq: seq, "its field `\(field)` has the value \(value)")
        case .newerKind(let number):
            self.init(.newer, seq: seq, "its kind has the number \(number)")
        case .erased:
            self.init(.erased, seq: seq, "only its kind and times are left")
        }
    }
}
