import TraylogPlatform

/// A key where it stands: in a page, or in the caller's memory.
///
/// It must not be kept longer than that lasts.
@safe
package struct KeyBytes {
    let base: UnsafeRawPointer?
    let count: Int

    /// No key at all: the end of a range that has none.
    static var none: KeyBytes { unsafe KeyBytes(base: nil, count: 0) }

    @unsafe init(base: UnsafeRawPointer?, count: Int) {
        unsafe self.base = base
        self.count = count
    }

    @unsafe package init(_ bytes: UnsafeRawBufferPointer) {
        unsafe self.init(base: bytes.baseAddress, count: bytes.count)
    }

    var isNone: Bool { unsafe base == nil }

    /// Below zero when this one is the smaller, above when it is the greater one; as LMDB sorts.
    @inline(__always)
    func compare(_ other: KeyBytes) -> Int {
        if count == 8, other.count == 8, let base = unsafe base, let theirs = unsafe other.base {
            let mine = unsafe UInt64(bigEndian: base.loadUnaligned(as: UInt64.self))
            let other = unsafe UInt64(bigEndian: theirs.loadUnaligned(as: UInt64.self))
            return mine < other ? -1 : mine == other ? 0 : 1
        }
        return compareBytes(other)
    }

    private func compareBytes(_ other: KeyBytes) -> Int {
        let common = min(count, other.count)
        if common > 0, let base = unsafe base, let theirs = unsafe other.base {
            let result = unsafe Memory.compare(base, theirs, common)
            if result != 0 { return result }
        }
        return count - other.count
    }

    /// As a number that sorts like the bytes; nil for keys of other lengths.
    var bigEndian: UInt64? {
        guard count == 8, let base = unsafe base else { return nil }
        return unsafe UInt64(bigEndian: base.loadUnaligned(as: UInt64.self))
    }

    /// As a number in host byte order, which is how the list of free pages is sorted.
    var number: UInt64? {
        guard count == 8, let base = unsafe base else { return nil }
        return unsafe base.loadUnaligned(as: UInt64.self)
    }
}
