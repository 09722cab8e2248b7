/// One page of the file, trusted no further than its bytes are there.
///
/// Whatever its bytes are, no method reads outside of it; what makes no sense is nil.
@safe
struct Page {
    /// The beginning of `size` readable bytes, in the map of the file.
    let base: UnsafeRawPointer
    let size: Int

    @unsafe init(base: UnsafeRawPointer, size: Int) {
        unsafe self.base = base
        self.size = size
    }

    var number: UInt64 { unsafe base.loadUnaligned(as: UInt64.self) }
    var flags: UInt16 { unsafe base.loadUnaligned(fromByteOffset: 10, as: UInt16.self) }
    var lower: Int { Int(unsafe base.loadUnaligned(fromByteOffset: 12, as: UInt16.self)) }
    var upper: Int { Int(unsafe base.loadUnaligned(fromByteOffset: 14, as: UInt16.self)) }
    /// Of the first page of a large value.
    var overflowPages: Int { Int(unsafe base.loadUnaligned(fromByteOffset: 12, as: UInt32.self)) }

    /// The number of entries that the list has room for; 0 when the header makes no sense.
    @inline(__always)
    var count: Int {
        let lower = lower
        return lower >= PageLayout.headerBytes && lower <= size ? (lower - PageLayout.headerBytes) >> 1 : 0
    }

    /// The offset of an entry; nil unless its header is inside of the page.
    ///
    /// - Parameter index: below ``count``.
    @inline(__always)
    func node(_ index: Int) -> Int? {
        let place = PageLayout.headerBytes + 2 * index
        guard index >= 0, place + 2 <= size else { return nil }
        let offset = Int(unsafe base.loadUnaligned(fromByteOffset: place, as: UInt16.self))
        guard offset >= PageLayout.headerBytes, offset + PageLayout.nodeBytes <= size else { return nil }
        return offset
    }

    /// The key of an entry; nil unless it is inside of the page.
    @inline(__always)
    func key(_ index: Int) -> KeyBytes? {
        guard let node = node(index) else { return nil }
        let size = Int(unsafe base.loadUnaligned(fromByteOffset: node + 6, as: UInt16.self))
        guard node + PageLayout.nodeBytes + size <= self.size else { return nil }
        return unsafe KeyBytes(base: base + node + PageLayout.nodeBytes, count: size)
    }

    /// The page below an entry of a branch.
    @inline(__always)
    func child(_ index: Int) -> UInt64? {
        guard let node = node(index) else { return nil }
        return unsafe base.loadUnaligned(fromByteOffset: node, as: UInt64.self) & 0xFFFF_FFFF_FFFF
    }

    /// A leaf's description of a value.
    struct Value {
        /// From the beginning of the page: the value, or the number of its first page.
        var offset: Int
        var byteCount: Int
        var flags: UInt16

        var isBig: Bool { flags & PageLayout.bigValue != 0 }
    }

    /// The value of an entry of a leaf; nil unless it is inside of the page.
    @inline(__always)
    func value(_ index: Int) -> Value? {
        guard let node = node(index) else { return nil }
        let byteCount = Int(unsafe base.loadUnaligned(fromByteOffset: node, as: UInt32.self))
        let flags = unsafe base.loadUnaligned(fromByteOffset: node + 4, as: UInt16.self)
        let key = Int(unsafe base.loadUnaligned(fromByteOffset: node + 6, as: UInt16.self))
        let offset = node + PageLayout.nodeBytes + key
        let here = flags & PageLayout.bigValue != 0 ? 8 : byteCount
        guard offset + here <= size else { return nil }
        return Value(offset: offset, byteCount: byteCount, flags: flags)
    }

    /// The number at `offset`; nil unless it is inside of the page.
    func number(at offset: Int) -> UInt64? {
        guard offset >= 0, offset + 8 <= size else { return nil }
        return unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    /// - Parameter offset: inside of the page.
    func byte(at offset: Int) -> UInt8 {
        precondition(offset >= 0 && offset < size, "Outside of the page.")
        return unsafe base.load(fromByteOffset: offset, as: UInt8.self)
    }

    /// The bytes at `offset`; nil unless they are inside of the page.
    @unsafe func bytes(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
        guard offset >= 0, count >= 0, offset + count <= size else { return nil }
        return unsafe UnsafeRawBufferPointer(start: base + offset, count: count)
    }
}
