/// What signs notes. As text: `PRIVATE+KEY+NAME+ID+KEY`, which whoever reads it can sign with.
public struct NotePrivateKey: Sendable {
    private static let prefix = "PRIVATE+KEY+"

    public let publicKey: NotePublicKey
    /// The 32 bytes of the Ed25519 private key (RFC 8032).
    private let seed: [UInt8]

    /// A new one, from the system's source of random numbers.
    ///
    /// - Parameter name: of the log, such as `trays.example.org/audit`; it stands under each signature.
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

    /// Of the text form; space around it is passed over.
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
