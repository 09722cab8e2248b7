import CTraylogCrypto

/// SHA-256 and Ed25519 from the system's OpenSSL (`libcrypto`).
///
/// No other file calls a cryptographic library. A port to a system without OpenSSL replaces this file.
enum SystemCryptography {
    /// The SHA-256 of one piece followed by another (FIPS 180-4).
    static func sha256(_ first: RawSpan, _ second: RawSpan) -> MerkleHash {
        // Sound: the pieces are read only during the call, and the digest has the 32 bytes that the call writes.
        unsafe first.withUnsafeBytes { first in
            unsafe second.withUnsafeBytes { second in
                var words: MerkleHash.Words = (0, 0, 0, 0)
                unsafe withUnsafeMutableBytes(of: &words) { digest in
                    unsafe traylog_sha256(
                        first.baseAddress, first.count, second.baseAddress, second.count,
                        digest.assumingMemoryBound(to: UInt8.self).baseAddress)
                }
                return MerkleHash(words: words)
            }
        }
    }

    /// The public key of an Ed25519 private key (RFC 8032); nil when `seed` is not one.
    static func ed25519PublicKey(of seed: [UInt8]) -> [UInt8]? {
        guard seed.count == 32 else { return nil }
        var key = [UInt8](repeating: 0, count: 32)
        // Sound: both arrays have the 32 bytes that the call reads and writes.
        return unsafe traylog_ed25519_public(seed, &key) == 1 ? key : nil
    }

    /// The 64 bytes of an Ed25519 signature (RFC 8032); nil when `seed` is not a private key.
    static func ed25519Signature(of message: [UInt8], seed: [UInt8]) -> [UInt8]? {
        guard seed.count == 32 else { return nil }
        var signature = [UInt8](repeating: 0, count: 64)
        // Sound: the arrays have the bytes that the call reads and writes.
        return unsafe traylog_ed25519_sign(seed, message, message.count, &signature) == 1 ? signature : nil
    }

    static func isEd25519Signature(_ signature: [UInt8], of message: [UInt8], key: [UInt8]) -> Bool {
        guard key.count == 32 else { return false }
        // Sound: the arrays have the bytes that the call reads.
        return unsafe traylog_ed25519_verify(key, message, message.count, signature, signature.count) == 1
    }
}
