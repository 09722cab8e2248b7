import CTraylogSystem
import Glibc

/// What the C library and the processor do with memory.
package enum Memory {
    /// Below zero, zero or above, as the first `count` bytes of both sort.
    @inlinable @inline(__always)
    @unsafe package static func compare(_ one: UnsafeRawPointer, _ other: UnsafeRawPointer, _ count: Int) -> Int {
        Int(unsafe memcmp(one, other, count))
    }

    /// Asks for a line of memory that will be looked at soon. Any address will do: one that is not there is ignored.
    @inlinable @inline(__always)
    @unsafe package static func prefetch(_ address: UnsafeRawPointer) {
        unsafe traylog_prefetch(address)
    }
}
