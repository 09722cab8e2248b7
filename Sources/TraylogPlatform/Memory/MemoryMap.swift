import CTraylogSystem
import TraylogCLibrary

/// Addresses that lead to a file, or to zeros; given back with the last reference.
@safe
package final class MemoryMap {
    package let base: UnsafeMutableRawPointer
    package let byteCount: Int

    /// Maps a file for reading; it may be shorter than that, and grow into it.
    ///
    /// Reading beyond the file's end stops the process.
    package init(reading file: FileDescriptor, byteCount: Int) throws(SystemError) {
        unsafe base = try Self.map(byteCount, PROT_READ, MAP_SHARED, file.number)
        self.byteCount = byteCount
        // What lies beside a page is rarely wanted next.
        expectScan(false)
    }

    /// Zeros, which take memory only where they are changed.
    package init(zeros byteCount: Int) throws(SystemError) {
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        unsafe base = try Self.map(byteCount, PROT_READ | PROT_WRITE, flags, -1)
        self.byteCount = byteCount
    }

    deinit {
        unsafe munmap(base, byteCount)
    }

    /// Tells the system whether bytes will be read in a row, so that it reads ahead what is not in memory.
    package func expectScan(_ isExpected: Bool) {
        let advice = isExpected ? POSIX_MADV_SEQUENTIAL : POSIX_MADV_RANDOM
        unsafe madvise(base, byteCount, Int32(advice))
    }

    private static func map(
        _ byteCount: Int, _ protection: Int32, _ flags: Int32, _ descriptor: Int32
    ) throws(SystemError) -> UnsafeMutableRawPointer {
        let address = unsafe mmap(nil, byteCount, protection, flags, descriptor, 0)
        guard unsafe address != MAP_FAILED, let address = unsafe address else { throw .last }
        return unsafe address
    }
}

/// Memory, as the C library and the processor manage it.
@usableFromInline
package enum Memory {
    /// Below zero, zero or above, as the first `count` bytes of both sort.
    @inlinable @inline(__always)
    @unsafe package static func compare(_ one: UnsafeRawPointer, _ other: UnsafeRawPointer, _ count: Int) -> Int {
        Int(unsafe memcmp(one, other, count))
    }

    /// Asks the processor to bring the memory of an element near, which is about to be looked at, without waiting for it.
    @inlinable @inline(__always)
    package static func prefetch<Element>(_ index: Int, of array: borrowing ContiguousArray<Element>) {
        unsafe array.withUnsafeBufferPointer { unsafe traylog_prefetch($0.baseAddress.unsafelyUnwrapped + index) }
    }
}
