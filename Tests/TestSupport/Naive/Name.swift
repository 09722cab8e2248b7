/// A string that is equal to another only when all bytes are.
///
/// Swift's own `==` treats canonically equivalent strings as equal, which would hide a mix-up of two users.
package struct Name: Hashable, Comparable, Sendable {
    package let text: String
    private let bytes: [UInt8]

    package init(_ text: String) {
        self.text = text
        bytes = Array(text.utf8)
    }

    package init?(_ text: String?) {
        guard let text else { return nil }
        self.init(text)
    }

    package static func == (left: Name, right: Name) -> Bool { left.bytes == right.bytes }

    package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

    package static func < (left: Name, right: Name) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}

/// Whether two values are equal and all their strings are the same bytes.
package func sameBytes<Value: Equatable>(_ left: Value, _ right: Value) -> Bool {
    left == right && Name(String(reflecting: left)) == Name(String(reflecting: right))
}
