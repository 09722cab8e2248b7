/// Large payloads: rows of their own, each as large as fits into one page of LMDB.
extension RecordCodec {
    package static let chunkBytes = 4_080
    package static let chunkKeyBytes = 10
    /// The chunk index is a u16.
    package static let largestPayloadBytes = chunkBytes << 16

    package static func chunkCount(of payloadBytes: Int) -> Int {
        (payloadBytes + chunkBytes - 1) / chunkBytes
    }

    /// Where chunk `index` lies in a payload; chunks are full but for the last.
    package static func chunkRange(_ index: Int, of payloadBytes: Int) -> Range<Int> {
        let start = index * chunkBytes
        return start..<min(start + chunkBytes, payloadBytes)
    }

    /// The key of a chunk: the seq, 8 bytes big-endian, then the index, 2 bytes big-endian, so that the chunks
    /// of an event lie side by side and in order.
    package static func appendChunkKey(seq: UInt64, index: Int, to buffer: inout [UInt8]) {
        precondition(index >= 0 && index <= UInt16.max, "chunk indexes are u16")
        buffer.append(addingCapacity: chunkKeyBytes) { output in
            output.append(littleEndian: seq.byteSwapped)
            output.append(littleEndian: UInt16(index).byteSwapped)
        }
    }
}
