import TraylogDomain

/// A user's name as a key: equal only when the bytes are equal.
struct UserName: Hashable, Sendable {
    let text: String
    private let identity: UInt64

    init(_ text: String, _ hasher: IdentityHasher) {
        self.text = text
        identity = hasher.identity(of: text, as: .user)
    }

    static func == (left: UserName, right: UserName) -> Bool {
        left.identity == right.identity && left.text.hasSameBytes(as: right.text)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}
