/// The 16 random bytes of a record, hashed before the payload, so that nobody who has the hash of an erased
/// payload can find the payload by guessing.
package struct Salt: Hashable, Sendable {
    /// Bytes 0…7 and 8…15, each little-endian.
    package let first: UInt64
    package let second: UInt64

    package init(_ first: UInt64, _ second: UInt64) {
        self.first = first
        self.second = second
    }

    /// Of its 16 bytes, as a record has them; nil of any other number.
    package init?(bytes: RawSpan) {
        guard bytes.byteCount == 16 else { return nil }
        self.init(bytes.littleEndian(at: 0), bytes.littleEndian(at: 8))
    }

    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: 16) { output in
            output.append(littleEndian: first)
            output.append(littleEndian: second)
        }
        return bytes
    }
}
