import CTraylogCRC
import TraylogDomain

// The only file of this module with unsafe constructs. Each has a comment that says why it is sound. The functions are
// safe to call with any arguments.

/// CRC-32C (Castagnoli, RFC 3720) of `bytes`, continuing from `crc`, which is 0 to start.
///
/// `crc32c(b, from: crc32c(a))` is the checksum of a followed by b. Uses the processor's instruction where there
/// is one; about 3 cycles for 8 bytes.
package func crc32c(_ bytes: RawSpan, from crc: UInt32 = 0) -> UInt32 {
    // Sound: the C function reads `count` bytes from the address during the call and keeps neither.
    unsafe bytes.withUnsafeBytes { unsafe traylog_crc32c(crc, $0.baseAddress, $0.count) }
}

/// CRC-32C of the eight bytes of `number`, big-endian: the form of a seq in keys and checksums.
package func crc32c(bigEndian number: UInt64, from crc: UInt32 = 0) -> UInt32 {
    // Sound: as above.
    unsafe withUnsafeBytes(of: number.bigEndian) { unsafe traylog_crc32c(crc, $0.baseAddress, $0.count) }
}

/// ``crc32c(_:from:)`` computed by table, without the processor's instruction; for tests.
package func crc32cByTable(_ bytes: RawSpan, from crc: UInt32 = 0) -> UInt32 {
    // Sound: as above.
    unsafe bytes.withUnsafeBytes { unsafe traylog_crc32c_portable(crc, $0.baseAddress, $0.count) }
}

extension RawSpan {
    /// The little-endian integer at `offset`, aligned or not; traps outside of the span.
    @inlinable @inline(__always)
    package func littleEndian<Number: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int, as type: Number.Type = Number.self
    ) -> Number {
        // Sound: bounds are checked by the call, and every bit pattern is a valid integer.
        Number(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: type))
    }

    /// The byte at `offset`; traps outside of the span.
    @inlinable @inline(__always)
    package func byte(at offset: Int) -> UInt8 {
        // Sound: as above.
        unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt8.self)
    }
}

extension RawSpan {
    /// Whether all bytes are ASCII, and so UTF-8.
    ///
    /// Most texts are, and eight bytes at a time take a fraction of a validation.
    package var isASCII: Bool {
        unsafe withUnsafeBytes { bytes in
            var bits: UInt64 = 0
            var offset = 0
            while offset &+ 8 <= bytes.count {
                // Sound: eight bytes from the offset on lie inside.
                bits |= unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                offset &+= 8
            }
            while offset < bytes.count {
                bits |= UInt64(unsafe bytes[offset])
                offset &+= 1
            }
            return bits & 0x8080_8080_8080_8080 == 0
        }
    }

    /// Whether both hold the same bytes.
    package func hasSameBytes(as other: RawSpan) -> Bool {
        guard byteCount == other.byteCount else { return false }
        var offset = 0
        while offset &+ 8 <= byteCount {
            guard littleEndian(at: offset, as: UInt64.self) == other.littleEndian(at: offset, as: UInt64.self) else {
                return false
            }
            offset &+= 8
        }
        while offset < byteCount {
            guard byte(at: offset) == other.byte(at: offset) else { return false }
            offset &+= 1
        }
        return true
    }
}

extension OutputSpan<UInt8> {
    /// Appends `number`, least significant byte first; traps when the free capacity is smaller.
    @inlinable @inline(__always)
    package mutating func append<Number: FixedWidthInteger & BitwiseCopyable>(littleEndian number: Number) {
        let size = MemoryLayout<Number>.size
        precondition(size <= freeCapacity)
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            // Sound: `size` bytes after the `count` initialized ones lie inside of the buffer, as just checked.
            unsafe UnsafeMutableRawBufferPointer(buffer)
                .storeBytes(of: number.littleEndian, toByteOffset: count, as: Number.self)
            count &+= size
        }
    }

    /// Appends a copy of `bytes`; traps when the free capacity is smaller.
    @inlinable @inline(__always)
    package mutating func append(copying bytes: RawSpan) {
        let size = bytes.byteCount
        guard size > 0 else { return }
        precondition(size <= freeCapacity)
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            unsafe bytes.withUnsafeBytes { source in
                // Sound: as above; the output is borrowed for writing, so the two cannot overlap.
                unsafe UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                    .copyMemory(from: source)
            }
            count &+= size
        }
    }
}

extension MutableSpan<UInt8> {
    /// Stores the UTF-8 of `text` at `offset`; traps when it does not fit.
    ///
    /// `withContiguousStorageIfAvailable` is inlined, where `utf8Span` is a call into the standard library.
    @inline(__always)
    mutating func store(_ text: borrowing String, at offset: Int) {
        let isStored: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { source in
            unsafe store(UnsafeRawBufferPointer(source), at: offset)
        }
        guard isStored == nil else { return }
        var next = offset
        for byte in text.utf8 {
            self[next] = byte
            next &+= 1
        }
    }

    /// Stores a copy of `bytes` at `offset`; traps when it does not fit.
    @inline(__always)
    mutating func store(_ bytes: RawSpan, at offset: Int) {
        unsafe bytes.withUnsafeBytes { source in unsafe store(source, at: offset) }
    }

    @inline(__always)
    private mutating func store(_ source: UnsafeRawBufferPointer, at offset: Int) {
        precondition(offset >= 0 && offset <= count && source.count <= count &- offset)
        unsafe withUnsafeMutableBytes { target in
            // Sound: the range was just checked, the source lives during the call, and the target is borrowed
            // for writing, so the two cannot overlap. An empty source may have no address.
            if let first = source.baseAddress, let base = target.baseAddress {
                unsafe (base + offset).copyMemory(from: first, byteCount: source.count)
            }
        }
    }

    /// Stores `number` at `offset`, least significant byte first; traps when it does not fit.
    @inline(__always)
    mutating func store(littleEndian number: UInt64, at offset: Int) {
        unsafe Swift.withUnsafeBytes(of: number.littleEndian) { source in unsafe store(source, at: offset) }
    }
}
