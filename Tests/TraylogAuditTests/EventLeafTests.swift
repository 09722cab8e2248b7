import Testing

@testable import TraylogAudit

/// The bytes of a leaf are those of Docs/internals/format.md.
@Suite struct EventLeafTests {
    private let leaf = EventLeaf(
        version: 2, kind: 13, stream: 0x0403_0201, revision: 0x0807_0605, seq: 0x100F_0E0D_0C0B_0A09,
        recordedAt: 0x1817_1615_1413_1211, occurredAt: -2, digest: .ofEmptyTree)

    @Test func aLeafsBytesHaveTheSpecifiedOrder() {
        let expected: [UInt8] =
            [2, 13] + Array(1...0x18) + [0xFE] + [UInt8](repeating: 0xFF, count: 7) + MerkleHash.ofEmptyTree.bytes
        #expect(leaf.bytes == expected)
        #expect(leaf.bytes.count == EventLeaf.byteCount)
        #expect(leaf.hash == .leaf(RawSpan(_elements: expected.span)))
    }

    @Test func aLeafIsReadAsItWasWritten() {
        #expect(EventLeaf(bytes: leaf.bytes) == leaf)
        var other = leaf
        other.occurredAt = nil
        #expect(EventLeaf(bytes: other.bytes) == other)
        #expect(other.bytes[26..<34] == [0, 0, 0, 0, 0, 0, 0, 0x80])
        for count in [0, 62, 65, 67] { #expect(EventLeaf(bytes: [UInt8](repeating: 0, count: count)) == nil) }
    }

    @Test func aLeafCommitsToOnePayloadAndItsSalt() {
        let salt = [UInt8](1...16)
        var leaf = leaf
        let message: [UInt8] = salt + [1, 2, 3]
        leaf.digest = .sha256(RawSpan(_elements: message.span))
        #expect(leaf.commits(toPayload: [1, 2, 3], salt: salt))
        #expect(!leaf.commits(toPayload: [1, 2], salt: salt))
        #expect(!leaf.commits(toPayload: [1, 2, 3], salt: salt.reversed()))
    }

    @Test func hexadecimalDigitsAreReadInEitherCase() {
        let hash = MerkleHash.ofEmptyTree
        #expect(MerkleHash(hex: hash.hex) == hash)
        #expect(MerkleHash(hex: hash.hex.uppercased()) == hash)
        for wrong in ["", "00", String(hash.hex.dropLast()), hash.hex + "0", String(hash.hex.dropLast()) + "g"] {
            #expect(MerkleHash(hex: wrong) == nil)
        }
    }
}
