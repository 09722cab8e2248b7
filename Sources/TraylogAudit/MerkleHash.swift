/// A SHA-256: of a leaf, of a node, of a payload with its salt, or of a whole tree.
public struct MerkleHash: Hashable, Sendable {
    /// The size of a hash of SHA-256.
    public static let byteCount = 32

    /// The bytes in memory order, eight at a time.
    typealias Words = (UInt64, UInt64, UInt64, UInt64)

    let words: Words

    init(words: Words) {
        self.words = words
    }

    /// Makes a hash from its 32 bytes; nil for any other number of bytes.
    public init?(bytes: [UInt8]) {
        self.init(bytes: RawSpan(_elements: bytes.span))
    }

    /// Copies a hash from its 32 bytes; nil for any other number of bytes.
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

    /// The 32 bytes of the hash.
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

    /// Whether both are the same.
    public static func == (left: MerkleHash, right: MerkleHash) -> Bool { left.words == right.words }

    /// Feeds it into a hasher.
    public func hash(into hasher: inout Hasher) {
        // One word of a SHA-256 is random enough.
        hasher.combine(words.0)
    }
}

extension MerkleHash: CustomStringConvertible {
    /// 64 hexadecimal digits, lower case.
    public var hex: String { Self.hex(bytes) }

    /// Two hexadecimal digits for each byte, in lower case.
    static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The bytes in hex digits.
    public var description: String { hex }

    /// Reads 64 hexadecimal digits of either case; nil for any other text.
    public init?(hex: String) {
        let digits = Array(hex.utf8)
        guard digits.count == 2 * MerkleHash.byteCount else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = MerkleHash.value(digits[index]), let low = MerkleHash.value(digits[index + 1])
            else { return nil }
            bytes.append(high << 4 | low)
        }
        self.init(bytes: bytes)
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension MerkleHash {
    /// The root of a tree without leaves: the SHA-256 of nothing.
    public static let ofEmptyTree = MerkleHash.sha256(RawSpan())

    /// SHA-256 of `bytes`.
    public static func sha256(_ bytes: RawSpan) -> MerkleHash {
        SystemCryptography.sha256(bytes, RawSpan())
    }

    /// SHA-256 of one piece followed by another.
    public static func sha256(_ first: RawSpan, _ second: RawSpan) -> MerkleHash {
        SystemCryptography.sha256(first, second)
    }

    /// The hash of a leaf (RFC 9162, 2.1.1): SHA-256(0x00 ‖ leaf).
    public static func leaf(_ bytes: RawSpan) -> MerkleHash {
        let prefix: InlineArray<1, UInt8> = [0]
        return sha256(RawSpan(_elements: prefix.span), bytes)
    }

    /// The hash of the node above two others: SHA-256(0x01 ‖ left ‖ right).
    public static func node(_ left: MerkleHash, _ right: MerkleHash) -> MerkleHash {
        // One piece on the stack: hashing 65 bytes in two pieces would take longer than the hash itself.
        // The prefix is the last byte of a whole word, so that all words are aligned.
        let message: (UInt64, Words, Words) = (UInt64(1).bigEndian, left.words, right.words)
        // Sound: the tuple has 72 bytes without padding, and the first 7 are left out.
        return unsafe withUnsafeBytes(of: message) { bytes in
            unsafe sha256(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[7...])))
        }
    }
}
