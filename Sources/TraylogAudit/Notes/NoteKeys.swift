/// Verifies the signatures of notes: a name and an Ed25519 key (C2SP signed-note), of a log or of a witness.
///
/// Its text is `NAME+ID+KEY`: the identifier is in hexadecimal digits; the key, after a byte for its kind, is in Base64.
public struct NotePublicKey: Hashable, Sendable {
    /// What its signatures say, by the byte in the key's text.
    @_spi(Witness) public enum Kind: UInt8, Sendable, Codable {
        /// That the holder signed the text.
        case signer = 1
        /// That the holder saw the log grow to this checkpoint, and when (C2SP tlog-cosignature).
        case cosigner = 4
    }

    /// What its signatures say.
    @_spi(Witness) public let kind: Kind
    /// The name of the signer, as in the key and under notes.
    public let name: String
    /// The 32 bytes of the key.
    public let bytes: [UInt8]

    /// - Throws: ``NoteError``.
    public init(name: String, bytes: [UInt8]) throws(NoteError) {
        try self.init(name: name, kind: .signer, bytes: bytes)
    }

    init(name: String, kind: Kind, bytes: [UInt8]) throws(NoteError) {
        guard NotePublicKey.isName(name) else { throw .badName(name) }
        guard bytes.count == 32 else { throw .malformedKey("it has \(bytes.count) bytes, not 32") }
        guard !NotePublicKey.isForgeable(bytes) else { throw .malformedKey("anybody can sign for it") }
        (self.name, self.kind, self.bytes) = (name, kind, bytes)
    }

    /// Reads the text of a key.
    ///
    /// Space around it is ignored.
    ///
    /// - Throws: ``NoteError``.
    public init(_ text: String) throws(NoteError) {
        let parts = text.trimmed.split(separator: "+", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let key = Base64Text.decode(parts[2]), let first = key.first else {
            throw .malformedKey("a public key is NAME+ID+KEY")
        }
        guard let kind = Kind(rawValue: first) else {
            throw .malformedKey("it is of the kind \(first); 1 (Ed25519) and 4 (Ed25519 of a witness) are known")
        }
        try self.init(name: String(parts[0]), kind: kind, bytes: Array(key.dropFirst()))
        guard MerkleHash.hex(id) == String(parts[1]) else { throw .malformedKey("name, identifier and key differ") }
    }

    /// The key as one line of text, for a file.
    public var text: String {
        "\(name)+\(MerkleHash.hex(id))+\(Base64Text.encode([kind.rawValue] + bytes))"
    }

    /// The identifier in the key's text: eight hexadecimal digits.
    @_spi(Witness) public var idText: String { MerkleHash.hex(id) }

    /// The first four bytes of SHA-256(name ‖ line feed ‖ kind ‖ key).
    var id: [UInt8] {
        let message = Array(name.utf8) + [0x0A, kind.rawValue] + bytes
        return Array(MerkleHash.sha256(RawSpan(_elements: message.span)).bytes.prefix(4))
    }

    func isValid(_ signature: [UInt8], of text: String) -> Bool {
        switch kind {
        case .signer: SystemCryptography.isEd25519Signature(signature, of: Array(text.utf8), key: bytes)
        case .cosigner: cosigningTime(signature, of: text) != nil
        }
    }

    /// When a witness saw the text, in seconds of Unix time; nil for what is no cosignature of this key.
    func cosigningTime(_ signature: [UInt8], of text: String) -> UInt64? {
        guard kind == .cosigner, signature.count == 72 else { return nil }
        let time = signature[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard (1...UInt64(Int64.max)).contains(time) else { return nil }
        let message = NotePublicKey.cosigned(text, at: time)
        return SystemCryptography.isEd25519Signature(Array(signature[8...]), of: message, key: bytes) ? time : nil
    }

    /// What a witness signs.
    static func cosigned(_ text: String, at time: UInt64) -> [UInt8] {
        Array("cosignature/v1\ntime \(time)\n\(text)".utf8)
    }

    /// Whether the key is a point of small order, or not in the one way to write it: such a signature needs no private key.
    private static func isForgeable(_ bytes: [UInt8]) -> Bool {
        let y = Array(bytes.dropLast()) + [bytes[31] & 0x7F]
        // 2^255 - 19 and above, and the numbers 0, 1 and -1, which are points of order 4, 1 and 2; then the points of order 8.
        if y[31] == 0x7F, y[1..<31].allSatisfy({ $0 == 0xFF }), y[0] >= 0xEC { return true }
        if y[1...].allSatisfy({ $0 == 0 }), y[0] <= 1 { return true }
        return [
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        ].contains(MerkleHash(bytes: y)?.hex)
    }

    static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.unicodeScalars.allSatisfy { scalar in
                scalar != "+" && !scalar.properties.isWhitespace && scalar.properties.generalCategory != .control
            }
    }
}

extension String {
    /// Without line ends, tabs and spaces around it.
    var trimmed: String {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        return String(decoding: utf8.drop(while: isSpace).reversed().drop(while: isSpace).reversed(), as: UTF8.self)
    }
}

/// Signs notes as a log, or as a witness.
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
    public init(name: String) throws(NoteError) { try self.init(name: name, kind: .signer) }

    /// Makes a new key of either kind.
    @_spi(Witness) public init(name: String, kind: NotePublicKey.Kind) throws(NoteError) {
        var random = SystemRandomNumberGenerator()
        let seed = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        try self.init(name: name, kind: kind, seed: seed)
    }

    private init(name: String, kind: NotePublicKey.Kind, seed: [UInt8]) throws(NoteError) {
        guard let key = SystemCryptography.ed25519PublicKey(of: seed) else {
            throw .malformedKey("it has \(seed.count) bytes, not 32")
        }
        self.seed = seed
        publicKey = try NotePublicKey(name: name, kind: kind, bytes: key)
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
        guard parts.count == 3, let bytes = Base64Text.decode(parts[2]),
            let kind = bytes.first.flatMap(NotePublicKey.Kind.init)
        else { throw .malformedKey("a private key is PRIVATE+KEY+NAME+ID+KEY") }
        try self.init(name: String(parts[0]), kind: kind, seed: Array(bytes.dropFirst()))
        guard MerkleHash.hex(publicKey.id) == String(parts[1]) else {
            throw .malformedKey("name, identifier and key differ")
        }
    }

    /// The key as one line of text; keep it secret.
    public var text: String {
        let bytes = [publicKey.kind.rawValue] + seed
        return
            "\(NotePrivateKey.prefix)\(publicKey.name)+\(MerkleHash.hex(publicKey.id))+\(Base64Text.encode(bytes))"
    }

    func sign(_ message: [UInt8]) throws(NoteError) -> [UInt8] {
        guard let signature = SystemCryptography.ed25519Signature(of: message, seed: seed) else {
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
    /// Fewer witnesses saw the checkpoint than a policy asks for.
    case noQuorum(seen: Int, of: Int)
    /// The text is not a witness policy.
    case malformedPolicy(String)
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
        case .noQuorum(let seen, let all): "\(WitnessedCheckpoint.seen(seen, of: all)), and the policy asks for more"
        case .malformedPolicy(let what): "not a witness policy: \(what)"
        case .badName(let name):
            "a key cannot have the name \"\(name)\": no spaces and no plus signs, and at least a letter"
        }
    }
}

extension NotePublicKey: CustomStringConvertible {
    /// ``text``.
    public var description: String { text }
}

extension NotePrivateKey: CustomStringConvertible, CustomReflectable {
    /// Words with the public key, so that whoever prints or logs a key does not give it away.
    ///
    /// ``text`` is the key itself.
    public var description: String { "private key of \(publicKey.text)" }

    /// Shows the public key alone.
    public var customMirror: Mirror { Mirror(self, children: ["publicKey": publicKey]) }
}
