/// A place between two pages, opaque to callers.
///
/// It stays valid when its item is deleted or new items arrive, and means the same in every process.
public struct Cursor: Hashable, Sendable {
    /// The next page holds positions below this one.
    package var before: Seq

    package init(before: Seq) { self.before = before }

    /// The cursor that `text` stands for; nil when no page ever gave it out.
    public init?(_ text: some StringProtocol) {
        let prefix = "c1-"
        guard text.hasPrefix(prefix) else { return nil }
        let digits = text.dropFirst(prefix.count)
        guard digits.utf8.count <= 13, digits.utf8.allSatisfy({ $0 < 0x80 }),
            let value = UInt64(digits, radix: 36), value > 0, String(value, radix: 36) == digits
        else { return nil }
        before = Seq(value)
    }
}

extension Cursor: CustomStringConvertible {
    /// The text to hand to a client and to take back; letters, digits and `-` only.
    public var description: String { "c1-" + String(before.rawValue, radix: 36) }
}
