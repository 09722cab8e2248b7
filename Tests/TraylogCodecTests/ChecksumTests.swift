import TestSupport
import Testing

@testable import TraylogCodec

@Suite struct ChecksumTests {
    /// RFC 3720, appendix B.4.
    static let vectors: [([UInt8], UInt32)] = [
        ([UInt8](repeating: 0, count: 32), 0x8A91_36AA),
        ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
        ([UInt8](0..<32), 0x46DD_794E),
        ([UInt8]((0..<32).reversed()), 0x113F_DB5C),
        ([], 0),
    ]

    @Test(arguments: vectors)
    func publishedVectorsHold(bytes: [UInt8], crc: UInt32) {
        #expect(crc32c(RawSpan(_elements: bytes.span)) == crc)
        #expect(crc32cByTable(RawSpan(_elements: bytes.span)) == crc)
    }

    @Test(arguments: UInt64(0)..<20)
    func tableAndInstructionAgree(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<50 {
            let bytes = random.bytes(Int.random(in: 0..<600, using: &random))
            let start = UInt32(truncatingIfNeeded: random.next())
            let cut = Int.random(in: 0...bytes.count, using: &random)
            let span = RawSpan(_elements: bytes.span)
            let whole = crc32c(span, from: start)
            #expect(whole == crc32cByTable(span, from: start))
            // Unaligned starts, and parts put together.
            let head = crc32c(span.extracting(..<cut), from: start)
            #expect(crc32c(span.extracting(cut...), from: head) == whole)
        }
    }

    @Test func aSeqIsCheckedAsItsKey() {
        let key: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
        #expect(crc32c(bigEndian: 0x0102_0304_0506_0708) == crc32c(RawSpan(_elements: key.span)))
    }
}
