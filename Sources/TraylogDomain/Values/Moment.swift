/// A moment of the store's past that a query can ask for.
public enum Moment: Hashable, Sendable {
    /// Right after this event; 0 is before the first. Beyond the head it is refused (`upToBeyondHead`).
    case seq(Seq)
    /// After the last event that was recorded at or before this time.
    case time(Timestamp)
}

extension Moment {
    /// Reads a seq in decimal digits, or a time as RFC 3339 writes it; nil when the text is neither.
    public init?(_ text: String) {
        if !text.isEmpty, text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) {
            guard let number = UInt64(text) else { return nil }
            self = .seq(Seq(number))
        } else if let time = Timestamp(rfc3339: text) {
            self = .time(time)
        } else {
            return nil
        }
    }
}
