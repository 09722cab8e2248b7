import Glibc

/// Memory in pages of 2 MiB, where the system has them: a page fault for each 512 of the usual ones, and addresses that
/// the processor seldom has to look up.
package enum LargePages {
    static let byteCount = 2 << 20

    /// Asks for large pages in the room that an array has and does not use yet.
    package static func expect<Element>(in array: inout [Element]) {
        // The storage that all empty arrays share has no room, and must not be written to.
        guard array.capacity > array.count else { return }
        array.append(addingCapacity: array.capacity - array.count) { output in
            unsafe output.withUnsafeMutableBufferPointer { room, _ in
                unsafe advise(UnsafeMutableRawBufferPointer(room))
            }
        }
    }

    /// Asks for them in all that lies within `memory` in whole ones.
    ///
    /// Advice: where the system has no large pages, all stays as it is.
    static func advise(_ memory: UnsafeMutableRawBufferPointer) {
        guard let base = memory.baseAddress else { return }
        let address = UInt(bitPattern: base)
        let mask = UInt(byteCount - 1)
        let start = (address + mask) & ~mask
        let end = (address + UInt(memory.count)) & ~mask
        guard start < end else { return }
        unsafe madvise(base + Int(start - address), Int(end - start), MADV_HUGEPAGE)
    }
}
