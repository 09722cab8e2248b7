/// Verifies the signatures of notes: a name and an Ed25519 key (C2SP signed-note).
///
/// Its text is `NAME+ID+KEY`: the identifier is in hexadecimal digits; the key, after the byte 1 for its kind, is in
/// Base64.
public struct NotePublicKey: Hashable, Sendable {
    static let kind: UInt8 = 1

    /// The name of the signer, as in the key and under notes.
    public let name: String
    /// The 32 bytes of the key.
    public let bytes: [UInt8]

    /// - Throws: ``NoteError``.
    public init(name: String, bytes: [UInt8]) throws(NoteError) {
        guard NotePublicKey.isName(name) else { throw .badName(name) }
        guard bytes.count == 32 else { throw .malformedKey("it has \(bytes.count) bytes, not 32") }
        self.name = name
        self.bytes = bytes
    }

    /// Reads the text of a key.
    ///
    /// Space around it is ignored.
    ///
    /// - Throws: ``NoteError``.
    public init(_ text: String) throws(NoteError) {
        let parts = text.trimmed.split(separator: "+", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let key = Base64Text.decode(parts[2]), key.first == NotePublicKey.kind else {
            throw .malformedKey("a public key is NAME+ID+KEY")
        }
        try self.init(name: String(parts[0]), bytes: Array(key.dropFirst()))
        guard NotePublicKey.hex(id) == String(parts[1]) else { throw .malformedKey("name, identifier and key differ") }
    }

    /// The key as one line of text, for a file.
    public var text: String {
        "\(name)+\(NotePublicKey.hex(id))+\(Base64Text.encode([NotePublicKey.kind] + bytes))"
    }

    /// The first four bytes of SHA-256(name ‖ line feed ‖ kind ‖ key).
    var id: [UInt8] {
        let message = Array(name.utf8) + [0x0A, NotePublicKey.kind] + bytes
        return Array(MerkleHash.sha256(RawSpan(_elements: message.span)).bytes.prefix(4))
    }

    func isValid(_ signature: [UInt8], of text: String) -> Bool {
        SystemCryptography.isEd25519Signature(signature, of: Array(text.utf8), key: bytes)
    }

    static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.unicodeScalars.allSatisfy { scalar in
                scalar != "+" && !scalar.properties.isWhitespace && scalar.properties.generalCategory != .control
            }
    }

    static func hex(_ id: [UInt8]) -> String {
        let digits = Array("0123456789abcdef")
        return String(id.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}

extension String {
    /// Without line ends, tabs and spaces around it.
    var trimmed: String {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        return String(decoding: utf8.drop(while: isSpace).reversed().drop(while: isSpace).reversed(), as: UTF8.self)
    }
}

/// Signs notes.
///
/// Its text is `PRIVATE+KEY+NAME+ID+KEY`; keep it secret, because it is all that is needed to sign.
public struct NotePrivateKey: Sendable {
    private static let prefix = "PRIVATE+KEY+"

    /// The public key, with which others check the signatures.
    public let publicKey: NotePublicKey
    /// The 32 bytes of the Ed25519 private key (RFC 8032).
    private let seed: [UInt8]

    /// Makes a new key from the system's random numbers.
    ///
    /// - Parameter name: the name of the log, such as `trays.example.org/audit`. Each signature carries it.
    /// - Throws: ``NoteError`` `badName`.
    public init(name: String) throws(NoteError) {
        var random = SystemRandomNumberGenerator()
        try self.init(name: name, seed: (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    }

    private init(name: String, seed: [UInt8]) throws(NoteError) {
        guard let key = SystemCryptography.ed25519PublicKey(of: seed) else {
            throw .malformedKey("it has \(seed.count) bytes, not 32")
        }
        self.seed = seed
        publicKey = try NotePublicKey(name: name, bytes: key)
    }

    /// Reads the text of a key.
    ///
    /// Space around it is ignored.
    ///
    /// - Throws: ``NoteError``.
    public init(_ text: String) throws(NoteError) {
        let text = text.trimmed
        guard text.hasPrefix(NotePrivateKey.prefix) else {
            throw .malformedKey("a private key begins with PRIVATE+KEY+")
        }
        let parts = text.dropFirst(NotePrivateKey.prefix.count)
            .split(separator: "+", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = Base64Text.decode(parts[2]), bytes.first == NotePublicKey.kind else {
            throw .malformedKey("a private key is PRIVATE+KEY+NAME+ID+KEY")
        }
        try self.init(name: String(parts[0]), seed: Array(bytes.dropFirst()))
        guard NotePublicKey.hex(publicKey.id) == String(parts[1]) else {
            throw .malformedKey("name, identifier and key differ")
        }
    }

    /// The key as one line of text; keep it secret.
    public var text: String {
        let bytes = [NotePublicKey.kind] + seed
        return
            "\(NotePrivateKey.prefix)\(publicKey.name)+\(NotePublicKey.hex(publicKey.id))+\(Base64Text.encode(bytes))"
    }

    func sign(_ text: String) throws(NoteError) -> [UInt8] {
        guard let signature = SystemCryptography.ed25519Signature(of: Array(text.utf8), seed: seed) else {
            throw .malformedKey("it cannot sign")
        }
        return signature
    }
}

/// The reason why a key, a note or a checkpoint cannot be used.
public enum NoteError: Error, Hashable, Sendable {
    /// The text is not a key of this form.
    case malformedKey(String)
    /// The text is not a signed note, or the text of the note is not a checkpoint.
    case malformedNote(String)
    /// The note has no signature of this key.
    case unsigned(by: String)
    /// The key's signature does not match the text: the text, the signature or the key was changed.
    case wrongSignature(of: String)
    /// A name is empty, or has a space, a control character or a plus sign.
    case badName(String)
}

extension NoteError: CustomStringConvertible {
    /// The text for a person.
    public var description: String {
        switch self {
        case .malformedKey(let what): "not a key: \(what)"
        case .malformedNote(let what): "not a signed tree head: \(what)"
        case .unsigned(let name): "the key \(name) has not signed it"
        case .wrongSignature(let name): "the signature of \(name) does not fit the text"
        case .badName(let name):
            "a key cannot have the name \"\(name)\": no spaces and no plus signs, and at least a letter"
        }
    }
}
