/// A SHA-256: of a leaf, of a node, of a payload with its salt, or of a whole tree.
public struct MerkleHash: Hashable, Sendable {
    public static let byteCount = 32

    /// The bytes as they lie in memory, eight at a time.
    typealias Words = (UInt64, UInt64, UInt64, UInt64)

    let words: Words

    init(words: Words) {
        self.words = words
    }

    /// Of its 32 bytes; nil of any other number.
    public init?(bytes: [UInt8]) {
        self.init(bytes: RawSpan(_elements: bytes.span))
    }

    /// The same, copied from where they lie.
    public init?(bytes: RawSpan) {
        guard bytes.byteCount == MerkleHash.byteCount else { return nil }
        // Sound: the span has 32 bytes, as just checked, and every bit pattern is an integer.
        words = unsafe (
            bytes.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt64.self),
            bytes.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt64.self),
            bytes.unsafeLoadUnaligned(fromByteOffset: 16, as: UInt64.self),
            bytes.unsafeLoadUnaligned(fromByteOffset: 24, as: UInt64.self)
        )
    }

    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(MerkleHash.byteCount)
        append(to: &bytes)
        return bytes
    }

    /// Appends the 32 bytes.
    public func append(to bytes: inout [UInt8]) {
        unsafe withUnsafeBytes(of: words) { unsafe bytes.append(contentsOf: $0) }
    }

    public static func == (left: MerkleHash, right: MerkleHash) -> Bool { left.words == right.words }

    public func hash(into hasher: inout Hasher) {
        // Any word of a SHA-256 is as good as all of them.
        hasher.combine(words.0)
    }
}
