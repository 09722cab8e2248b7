import TraylogPlatform

/// Bytes read from a file at a position.
struct FileBytes {
    let bytes: [UInt8]

    /// Exactly `count` bytes at `offset`; nil when the file ends before or cannot be read.
    init?(_ file: FileDescriptor, at offset: Int64, count: Int) {
        guard let bytes = try? file.read(count, at: offset), bytes.count == count else { return nil }
        self.bytes = bytes
    }

    /// The integer at `offset` in host byte order; the caller knows that it is inside.
    func integer<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: Number.Type) -> Number {
        precondition(offset >= 0 && offset + MemoryLayout<Number>.size <= bytes.count, "Outside of the bytes read.")
        return unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: type) }
    }
}
