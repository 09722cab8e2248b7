import Glibc

/// Memory, as the C library and the processor manage it.
package enum Memory {
    /// Below zero, zero or above, as the first `count` bytes of both sort.
    @inlinable @inline(__always)
    @unsafe package static func compare(_ one: UnsafeRawPointer, _ other: UnsafeRawPointer, _ count: Int) -> Int {
        Int(unsafe memcmp(one, other, count))
    }
}
