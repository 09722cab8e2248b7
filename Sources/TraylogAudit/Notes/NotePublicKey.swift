/// What verifies the signatures under notes: a name and an Ed25519 key (C2SP signed-note).
///
/// As text: `NAME+ID+KEY`, with the identifier in hexadecimal digits and the key, behind the byte 1 for its kind, in
/// Base64.
public struct NotePublicKey: Hashable, Sendable {
    static let kind: UInt8 = 1

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

    /// Of the text form; space around it is passed over.
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
