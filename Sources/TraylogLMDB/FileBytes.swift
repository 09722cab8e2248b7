import Glibc

/// Bytes read from a file at a position.
struct FileBytes {
    let bytes: [UInt8]

    /// Exactly `count` bytes at `offset`; nil when the file ends before or cannot be read.
    static func read(descriptor: Int32, at offset: Int64, count: Int) -> FileBytes? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe pread(descriptor, buffer.baseAddress! + filled, count - filled, off_t(offset) + off_t(filled))
            }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { return nil }
            filled += got
        }
        return FileBytes(bytes: bytes)
    }

    /// The integer at `offset` in host byte order; the caller knows that it is inside.
    func integer<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: Number.Type) -> Number {
        precondition(offset >= 0 && offset + MemoryLayout<Number>.size <= bytes.count, "Outside of the bytes read.")
        return unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: type) }
    }
}
