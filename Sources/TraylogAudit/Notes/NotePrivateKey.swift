import Crypto

/// What signs notes. As text: `PRIVATE+KEY+NAME+ID+KEY`, which whoever reads it can sign with.
public struct NotePrivateKey: Sendable {
    private static let prefix = "PRIVATE+KEY+"

    public let publicKey: NotePublicKey
    private let key: Curve25519.Signing.PrivateKey

    /// A new one, from the system's source of random numbers.
    ///
    /// - Parameter name: of the log, such as `trays.example.org/audit`; it stands under each signature.
    /// - Throws: ``NoteError`` `badName`.
    public init(name: String) throws(NoteError) {
        key = Curve25519.Signing.PrivateKey()
        publicKey = try NotePublicKey(name: name, bytes: Array(key.publicKey.rawRepresentation))
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
        guard parts.count == 3, let bytes = Base64Text.decode(parts[2]), bytes.first == NotePublicKey.kind,
            let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes.dropFirst())
        else { throw .malformedKey("a private key is PRIVATE+KEY+NAME+ID+KEY") }
        self.key = key
        publicKey = try NotePublicKey(name: String(parts[0]), bytes: Array(key.publicKey.rawRepresentation))
        guard NotePublicKey.hex(publicKey.id) == String(parts[1]) else {
            throw .malformedKey("name, identifier and key differ")
        }
    }

    public var text: String {
        let bytes = [NotePublicKey.kind] + Array(key.rawRepresentation)
        return
            "\(NotePrivateKey.prefix)\(publicKey.name)+\(NotePublicKey.hex(publicKey.id))+\(Base64Text.encode(bytes))"
    }

    func sign(_ text: String) throws(NoteError) -> [UInt8] {
        guard let signature = try? key.signature(for: Array(text.utf8)) else {
            throw .malformedKey("it cannot sign")
        }
        return Array(signature)
    }
}
