import TraylogDomain

/// A user's name as a key: equal only when the bytes are equal.
package struct UserName: Hashable, Sendable {
    package let text: String
    /// A keyed hash of the name.
    package let identity: Identity

    package init(_ text: String, _ hasher: IdentityHasher) {
        self.init(text, identity: hasher.identity(of: text, as: .user))
    }

    /// - Parameter identity: the name's.
    package init(_ text: String, identity: Identity) {
        self.text = text
        self.identity = identity
    }

    package static func == (left: UserName, right: UserName) -> Bool {
        left.identity == right.identity && left.text.hasSameBytes(as: right.text)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(identity) }

    // What Dictionary asks for: the identity is a keyed hash already, and hashing it again costs as much as the look-up.
    // swift-format-ignore: NoLeadingUnderscores
    package func _rawHashValue(seed: Int) -> Int { Int(truncatingIfNeeded: identity.rawValue) ^ seed }
}
