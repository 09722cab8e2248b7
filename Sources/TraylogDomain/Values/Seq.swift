/// The number of an event in the log: 1, 2, 3 … in commit order, without gaps, for the whole store.
///
/// An item's id is the seq of the event that brought it. Its position in the inbox is a seq, too.
///
/// Its `+` and `-` stop at the ends, so that a seq that a stranger named can be advanced without a trap.
public struct Seq: Hashable, Comparable, Sendable, ExpressibleByIntegerLiteral {
    /// The number itself, for the engine: other modules compute with the seq.
    @usableFromInline
    package var rawValue: UInt64

    /// The seq of a number.
    @inlinable
    public init(_ number: UInt64) { rawValue = number }

    /// The seq of this number.
    @inlinable
    public init(integerLiteral value: UInt64) { rawValue = value }

    /// The head of an empty store: before every event.
    public static let zero = Seq(0)

    /// The highest seq that a file may name, so that sums do not overflow: a million events a second for 2,000 years.
    package static let highest: UInt64 = (1 << 56) - 1

    /// Whether the left one comes first.
    @inlinable
    public static func < (left: Seq, right: Seq) -> Bool { left.rawValue < right.rawValue }
}

extension UInt64 {
    /// The number of a seq, to store or to show.
    ///
    /// Compute with the seq instead, because its sums cannot overflow.
    @inlinable
    public init(_ seq: Seq) { self = seq.rawValue }
}

extension Seq: LosslessStringConvertible {
    /// The number in digits.
    public var description: String { String(rawValue) }

    /// Reads decimal digits, without a sign; nil for any other text, and for a number of more than 64 bits.
    ///
    /// ```swift
    /// print(Seq("17") ?? 0)
    /// ```
    public init?(_ text: String) {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }),
            let number = UInt64(text)
        else { return nil }
        self.init(number)
    }

    /// Reads decimal digits, without a sign, from a request or an argument, and refuses any other text by name.
    ///
    /// ```swift
    /// let upTo = try Seq(parsing: text, field: "upTo")
    /// ```
    ///
    /// - Parameters:
    ///   - text: where it is not digits, or a number of more than 64 bits, it is refused.
    ///   - field: the name that the refusal has.
    /// - Throws: ``TraylogError``: refused `invalid`.
    public init(parsing text: String, field: String = "seq") throws(TraylogError) {
        guard let seq = Seq(text) else { throw .refused(.invalid(field: field, reason: "must be a number")) }
        self = seq
    }
}

/// A moment of the store's past that a query can ask for.
public enum Moment: Hashable, Sendable {
    /// Right after this event; 0 is before the first. A seq beyond the head is refused (`upToBeyondHead`).
    case seq(Seq)
    /// Right after the last event that was recorded at or before this time.
    case time(Timestamp)
}

extension Moment: ExpressibleByIntegerLiteral {
    /// Right after the event of this number.
    ///
    /// ```swift
    /// let tray = try await store.tray(of: "ann", asOf: 9)
    /// ```
    public init(integerLiteral value: UInt64) { self = .seq(Seq(value)) }
}

extension Moment {
    /// Reads a seq in decimal digits or a time in RFC 3339, such as `2004-04-15T16:56:01+02:00`; nil when the text is neither.
    ///
    /// ```swift
    /// print(Moment("17") == .seq(17))
    /// ```
    public init?(_ text: String) {
        if let seq = Seq(text) {
            self = .seq(seq)
        } else if let time = Timestamp(text) {
            self = .time(time)
        } else {
            return nil
        }
    }

    /// Reads a seq in decimal digits or a time in RFC 3339 from a request or an argument, and refuses any other text by name.
    ///
    /// ```swift
    /// let tray = try await store.tray(of: "ann", asOf: Moment(parsing: text))
    /// ```
    ///
    /// - Parameters:
    ///   - text: where it is neither, it is refused.
    ///   - field: the name that the refusal has.
    /// - Throws: ``TraylogError``: refused `invalid`.
    public init(parsing text: String, field: String = "asOf") throws(TraylogError) {
        guard let moment = Moment(text) else {
            throw .refused(.invalid(field: field, reason: "must be a seq or a time in RFC 3339"))
        }
        self = moment
    }
}

/// The lower end of the log after compactions: events below it may have left, and earlier states cannot be queried.
package struct Floor: Hashable, Sendable {
    /// The first event whose state can be queried; 0 before the first compaction.
    package var seq: Seq
    /// The newest archive of events that left the log; nil when nothing was archived.
    package var archive: String?

    package init(seq: Seq = .zero, archive: String? = nil) {
        self.seq = seq
        self.archive = archive
    }

    package func isAbove(_ seq: UInt64) -> Bool { seq < self.seq.rawValue }

    package var refusal: Refusal { .compacted(floor: seq, archive: archive) }
}
