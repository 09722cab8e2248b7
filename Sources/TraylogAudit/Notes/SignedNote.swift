/// A text with signatures under it (C2SP signed-note).
public struct SignedNote: Hashable, Sendable {
    public struct Signature: Hashable, Sendable {
        /// Of the key, as it names itself.
        public var name: String
        /// The four bytes that tell keys of one name apart, then the signature.
        var bytes: [UInt8]
    }

    private static let dash = "\u{2014} "
    /// Of a note, and of the lines below its text.
    private static let longest = 1 << 20
    private static let mostSignatures = 100

    /// Ends with a line feed.
    public let body: String
    public private(set) var signatures: [Signature] = []

    /// - Parameter text: lines, each with a line feed at its end, none of them empty at the end.
    public init(text: String) {
        body = text
    }

    /// A note as it is stored and sent.
    ///
    /// - Throws: ``NoteError`` `malformedNote`.
    public init(parsing note: String) throws(NoteError) {
        guard note.utf8.count <= SignedNote.longest else { throw .malformedNote("over 1 MiB") }
        let bytes = Array(note.utf8)
        guard !bytes.contains(where: { $0 < 0x20 && $0 != 0x0A }) else { throw .malformedNote("control characters") }
        // Signatures stand below the last empty line.
        guard let split = bytes.indices.dropLast().last(where: { bytes[$0] == 0x0A && bytes[$0 + 1] == 0x0A }),
            bytes.last == 0x0A, split + 2 < bytes.count
        else { throw .malformedNote("no signature below an empty line") }
        body = String(decoding: bytes[...split], as: UTF8.self)
        let lines = String(decoding: bytes[(split + 2)..<(bytes.count - 1)], as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count <= SignedNote.mostSignatures else { throw .malformedNote("over 100 signatures") }
        for line in lines { signatures.append(try SignedNote.signature(line)) }
    }

    private static func signature(_ line: Substring) throws(NoteError) -> Signature {
        let parts = line.dropFirst(dash.count).split(separator: " ", omittingEmptySubsequences: false)
        guard line.hasPrefix(dash), parts.count == 2, NotePublicKey.isName(String(parts[0])),
            let bytes = Base64Text.decode(parts[1]), bytes.count > 4
        else { throw .malformedNote("a line that is no signature") }
        return Signature(name: String(parts[0]), bytes: bytes)
    }

    /// As it is stored and sent.
    public var text: String {
        body + "\n"
            + signatures.map { "\(SignedNote.dash)\($0.name) \(Base64Text.encode($0.bytes))\n" }.joined()
    }

    /// Adds a signature.
    ///
    /// - Throws: ``NoteError``.
    public mutating func sign(with key: NotePrivateKey) throws(NoteError) {
        signatures.append(Signature(name: key.publicKey.name, bytes: key.publicKey.id + (try key.sign(body))))
    }

    /// Checks that the holder of `key` has signed this text; signatures of other keys mean nothing.
    ///
    /// - Throws: ``NoteError`` `unsigned`, `wrongSignature`.
    public func verify(with key: NotePublicKey) throws(NoteError) {
        let own = signatures.filter { $0.name == key.name && $0.bytes.starts(with: key.id) }
        guard !own.isEmpty else { throw .unsigned(by: key.name) }
        guard own.contains(where: { key.isValid(Array($0.bytes.dropFirst(4)), of: body) }) else {
            throw .wrongSignature(of: key.name)
        }
    }
}
