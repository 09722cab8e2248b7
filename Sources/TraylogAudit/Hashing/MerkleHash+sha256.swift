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

    /// The hash of a leaf with these bytes (RFC 9162, 2.1.1): SHA-256(0x00 ‖ leaf).
    public static func leaf(_ bytes: RawSpan) -> MerkleHash {
        let prefix: InlineArray<1, UInt8> = [0]
        return sha256(RawSpan(_elements: prefix.span), bytes)
    }

    /// The hash of the node above two others: SHA-256(0x01 ‖ left ‖ right).
    public static func node(_ left: MerkleHash, _ right: MerkleHash) -> MerkleHash {
        // One piece on the stack: two calls for 65 bytes would take longer than the hash.
        // The prefix is the last byte of a first word, so that all words lie aligned.
        let message: (UInt64, Words, Words) = (UInt64(1).bigEndian, left.words, right.words)
        // Sound: the tuple is 72 bytes without holes, of which the first 7 are left out.
        return unsafe withUnsafeBytes(of: message) { bytes in
            unsafe sha256(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[7...])))
        }
    }
}
