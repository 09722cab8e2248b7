/// A tree head as the text that is signed (C2SP tlog-checkpoint): origin, size and root, a line for each.
public struct Checkpoint: Hashable, Sendable {
    /// Which log it is about; the name of the key that signs.
    public var origin: String
    public var head: TreeHead
    /// Further lines, which mean nothing here and are kept.
    public var extensions: [String]

    public init(origin: String, head: TreeHead, extensions: [String] = []) {
        self.origin = origin
        self.head = head
        self.extensions = extensions
    }

    public var text: String {
        ([origin, String(head.size), Base64Text.encode(head.root.bytes)] + extensions).map { $0 + "\n" }.joined()
    }

    /// - Parameter text: of a note.
    /// - Throws: ``NoteError`` `malformedNote`.
    public init(_ text: String) throws(NoteError) {
        guard text.hasSuffix("\n") else { throw .malformedNote("its text does not end with a line feed") }
        let lines = text.dropLast().split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 3, !lines.contains("") else { throw .malformedNote("origin, size or root is missing") }
        guard let size = UInt64(lines[1]), String(size) == lines[1] else { throw .malformedNote("the size") }
        guard let bytes = Base64Text.decode(lines[2]), let root = MerkleHash(bytes: bytes) else {
            throw .malformedNote("the root")
        }
        self.init(
            origin: String(lines[0]), head: TreeHead(size: size, root: root),
            extensions: lines.dropFirst(3).map(String.init))
    }

    /// - Throws: ``NoteError``.
    public func signed(with key: NotePrivateKey) throws(NoteError) -> SignedNote {
        var note = SignedNote(text: text)
        try note.sign(with: key)
        return note
    }
}
