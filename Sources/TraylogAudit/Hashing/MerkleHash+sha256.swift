import Crypto

// The only file of this module that hashes. Messages are put together on the stack, because the call into the library
// takes longer than the hash of a few bytes does.

extension MerkleHash {
    /// The root of a tree without leaves: the SHA-256 of nothing.
    public static let ofEmptyTree = MerkleHash.sha256(RawSpan())

    /// SHA-256 of `bytes`.
    public static func sha256(_ bytes: RawSpan) -> MerkleHash {
        var hash = SHA256()
        hash.add(bytes)
        return MerkleHash(hash.finalize())
    }

    /// SHA-256 of one piece followed by another.
    public static func sha256(_ first: RawSpan, _ second: RawSpan) -> MerkleHash {
        var hash = SHA256()
        hash.add(first)
        hash.add(second)
        return MerkleHash(hash.finalize())
    }

    /// The hash of a leaf with these bytes (RFC 9162, 2.1.1): SHA-256(0x00 ‖ leaf).
    public static func leaf(_ bytes: RawSpan) -> MerkleHash {
        let prefix: InlineArray<1, UInt8> = [0]
        return sha256(RawSpan(_elements: prefix.span), bytes)
    }

    /// The hash of the node above two others: SHA-256(0x01 ‖ left ‖ right).
    public static func node(_ left: MerkleHash, _ right: MerkleHash) -> MerkleHash {
        // The prefix is the last byte of a first word, so that all words lie aligned.
        let message: (UInt64, (UInt64, UInt64, UInt64, UInt64), (UInt64, UInt64, UInt64, UInt64)) = (
            UInt64(1).bigEndian, left.words, right.words
        )
        // Sound: the tuple is 72 bytes without holes, of which the first 7 are left out.
        return unsafe withUnsafeBytes(of: message) { bytes in
            var hash = SHA256()
            unsafe hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: bytes[7...]))
            return MerkleHash(hash.finalize())
        }
    }

    private init(_ digest: SHA256.Digest) {
        words = unsafe digest.withUnsafeBytes { bytes in
            // Sound: a digest of SHA-256 has 32 bytes.
            unsafe (
                bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self),
                bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
                bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self),
                bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
            )
        }
    }
}

extension SHA256 {
    fileprivate mutating func add(_ bytes: RawSpan) {
        guard bytes.byteCount > 0 else { return }
        // Sound: the bytes are read during the call only.
        unsafe bytes.withUnsafeBytes { unsafe update(bufferPointer: $0) }
    }
}
