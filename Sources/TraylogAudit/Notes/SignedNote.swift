/// A text with signatures (C2SP signed-note).
public struct SignedNote: Hashable, Sendable {
    /// One signature under a note, with its signer.
    public struct Signature: Hashable, Sendable {
        /// The name of the key.
        public var name: String
        /// The four bytes that tell keys of one name apart, then the signature.
        var bytes: [UInt8]
    }

    private static let dash = "\u{2014} "
    /// The size limit of a note, in bytes.
    static let longest = 1 << 20
    private static let mostSignatures = 100

    /// The signed text.
    ///
    /// It ends with a line feed.
    public let body: String
    /// The signatures, in the order of the text.
    public private(set) var signatures: [Signature] = []

    /// - Parameter text: lines that end with a line feed; the last one is not empty.
    public init(text: String) {
        body = text
    }

    /// Reads the ``text`` of a note.
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
        signatures = try SignedNote.signatures(String(decoding: bytes[(split + 2)...], as: UTF8.self))
    }

    /// Reads lines of signatures, each with its line feed.
    static func signatures(_ text: String) throws(NoteError) -> [Signature] {
        let lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
        guard lines.count > 1, lines.last?.isEmpty == true else { throw .malformedNote("no signature") }
        guard lines.count <= mostSignatures + 1 else { throw .malformedNote("over \(mostSignatures) signatures") }
        var signatures: [Signature] = []
        for line in lines.dropLast() { signatures.append(try signature(Substring(line))) }
        return signatures
    }

    private static func signature(_ line: Substring) throws(NoteError) -> Signature {
        let parts = line.dropFirst(dash.count).split(separator: " ", omittingEmptySubsequences: false)
        guard line.hasPrefix(dash), parts.count == 2, NotePublicKey.isName(String(parts[0])),
            let bytes = Base64Text.decode(parts[1]), bytes.count > 4
        else { throw .malformedNote("a line that is no signature") }
        return Signature(name: String(parts[0]), bytes: bytes)
    }

    /// The note with its signatures, in the form to store and send.
    public var text: String {
        body + "\n" + signatureLines
    }

    /// Adds a signature.
    ///
    /// - Throws: ``NoteError``; `malformedKey` for the key of a witness, which signs no log.
    public mutating func sign(with key: NotePrivateKey) throws(NoteError) {
        guard key.publicKey.kind == .signer else { throw .malformedKey("it is a witness's, and signs no log") }
        let signature = try key.sign(Array(body.utf8))
        signatures.append(Signature(name: key.publicKey.name, bytes: key.publicKey.id + signature))
    }

    /// Adds a witness's signature, in place of one that it made before.
    ///
    /// - Parameter time: in seconds of Unix time.
    /// - Throws: ``NoteError``; `malformedKey` for the key of a log.
    @_spi(Witness) public mutating func cosign(with key: NotePrivateKey, at time: UInt64) throws(NoteError) {
        guard key.publicKey.kind == .cosigner else { throw .malformedKey("it is a log's, and cosigns nothing") }
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: time >> UInt64(56 - 8 * $0)) }
        let signature = bytes + (try key.sign(NotePublicKey.cosigned(body, at: time)))
        add(Signature(name: key.publicKey.name, bytes: key.publicKey.id + signature))
    }

    /// Adds a signature, in place of one of the same key.
    @_spi(Witness) public mutating func add(_ signature: Signature) {
        signatures.removeAll { $0.name == signature.name && $0.bytes.prefix(4) == signature.bytes.prefix(4) }
        signatures.append(signature)
    }

    mutating func append(_ signature: Signature) { signatures.append(signature) }

    /// The note with the signatures of one key only.
    @_spi(Witness) public func signed(by key: NotePublicKey) -> SignedNote {
        var note = self
        note.signatures = own(key)
        return note
    }

    /// The lines of its signatures.
    @_spi(Witness) public var signatureLines: String {
        signatures.map { "\(SignedNote.dash)\($0.name) \(Base64Text.encode($0.bytes))\n" }.joined()
    }

    /// The newest cosignature of a witness, and its time in seconds of Unix time; nil for none.
    ///
    /// - Throws: ``NoteError`` `wrongSignature` where one of its signatures does not fit the text.
    @_spi(Witness) public func cosignature(
        of key: NotePublicKey
    ) throws(NoteError) -> (signature: Signature, time: UInt64)? {
        var newest: (signature: Signature, time: UInt64)?
        for signature in own(key) {
            guard let time = key.cosigningTime(Array(signature.bytes.dropFirst(4)), of: body) else {
                throw .wrongSignature(of: key.name)
            }
            if time > newest?.time ?? 0 { newest = (signature, time) }
        }
        return newest
    }

    private func own(_ key: NotePublicKey) -> [Signature] {
        signatures.filter { $0.name == key.name && $0.bytes.starts(with: key.id) }
    }

    /// Checks that the holder of `key` signed this text.
    ///
    /// Signatures of other keys are ignored.
    ///
    /// - Throws: ``NoteError`` `unsigned`, `wrongSignature`.
    public func verify(with key: NotePublicKey) throws(NoteError) {
        let own = own(key)
        guard !own.isEmpty else { throw .unsigned(by: key.name) }
        guard own.contains(where: { key.isValid(Array($0.bytes.dropFirst(4)), of: body) }) else {
            throw .wrongSignature(of: key.name)
        }
    }
}

/// A tree head as a text to sign (C2SP tlog-checkpoint): origin, size and root, each on a line.
public struct Checkpoint: Hashable, Sendable {
    /// The name of the log, which is also the name of the key that signs.
    public var origin: String
    /// The tree head that the checkpoint states.
    public var head: TreeHead
    /// Further lines.
    ///
    /// They have no meaning here, and are kept.
    public var extensions: [String]

    /// A checkpoint in the form of C2SP's tlog-checkpoint; `origin` names the log, without line ends.
    public init(origin: String, head: TreeHead, extensions: [String] = []) {
        self.origin = origin
        self.head = head
        self.extensions = extensions
    }

    /// The body of the note, without signatures.
    public var text: String {
        ([origin, String(head.size), Base64Text.encode(head.root.bytes)] + extensions).map { $0 + "\n" }.joined()
    }

    /// Reads the text of a note.
    ///
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
