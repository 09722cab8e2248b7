import TestSupport
import Testing

@testable import TraylogDomain

@Suite struct PackedReaderTests {
    private func varint(_ bytes: [UInt8]) throws -> UInt64 { try bytes.unpacked { try $0.varint() } }

    @Test(arguments: [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, 1 << 62, 1 << 63 - 1, 1 << 63, .max - 1, .max] as [UInt64])
    func numbersComeBack(number: UInt64) throws {
        var bytes: [UInt8] = []
        bytes.appendVarint(number)
        #expect(try varint(bytes) == number)
        #expect(bytes.count == max(1, (UInt64.bitWidth - number.leadingZeroBitCount + 6) / 7))
        for count in bytes.indices {
            #expect(throws: PackedError.damaged("ends early")) { try varint(Array(bytes.prefix(count))) }
        }
        var fixed: [UInt8] = []
        fixed.appendFixed64(number)
        #expect(fixed.count == 8)
        #expect(try fixed.unpacked { try $0.fixed64() } == number)
    }

    @Test func randomNumbersSurviveARoundTrip() throws {
        var random = SeededRandom(seed: 1)
        for _ in 0..<2_000 {
            let number = random.number()
            var bytes: [UInt8] = []
            bytes.appendVarint(number)
            #expect(try varint(bytes) == number)
        }
    }

    @Test func numbersThatDoNotFitAreDamage() {
        let ones = [UInt8](repeating: 0xff, count: 9)
        #expect(throws: PackedError.damaged("number too large")) { try varint(ones + [0x02]) }
        #expect(throws: PackedError.damaged("number too large")) { try varint(ones + [0x7f]) }
        #expect(throws: PackedError.damaged("number too large")) { try varint(ones + [0x81, 0x00]) }
        #expect(throws: PackedError.damaged("number too large")) {
            try varint([UInt8](repeating: 0x80, count: 1_000) + [0x00])
        }
    }

    /// No encoder writes them, but they decode to their value.
    @Test func overlongNumbersAreRead() throws {
        #expect(try varint([0x80, 0x00]) == 0)
        #expect(try varint([0xff, 0x80, 0x80, 0x00]) == 127)
        #expect(try varint([UInt8](repeating: 0x80, count: 9) + [0x01]) == 1 << 63)
        #expect(try varint([UInt8](repeating: 0x80, count: 9) + [0x00]) == 0)
    }

    @Test func aCountReservesNoMoreThanTheBytesLeft() throws {
        var reader = PackedReader([3, 0, 0, 0])
        #expect(try reader.count() == 3)
        reader = PackedReader([3, 0, 0, 0])
        #expect(throws: PackedError.damaged("count too large")) { try reader.count(minimumBytes: 2) }
        reader = PackedReader([UInt8](repeating: 0xff, count: 9) + [0x01])
        #expect(throws: PackedError.damaged("count too large")) { try reader.count() }
    }

    @Test func readingStaysWithinTheBytes() throws {
        var reader = PackedReader([1, 2, 3], end: 2)
        #expect(throws: PackedError.damaged("ends early")) { try reader.take(3) }
        #expect(throws: PackedError.damaged("ends early")) { try reader.take(-1) }
        #expect(throws: PackedError.damaged("ends early")) { try reader.take(.max) }
        #expect(try reader.take(2) == [1, 2])
        #expect(reader.isAtEnd)
        #expect(try reader.take(0) == [])
        #expect(throws: PackedError.damaged("ends early")) { try reader.byte() }
        #expect(PackedReader([1], end: 9).remaining == 1)
    }
}
