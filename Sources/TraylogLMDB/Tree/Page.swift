/// Offsets in a page of LMDB 0.9, in bytes from its beginning; integers are in host byte order.
///
/// | offset | what |
/// |---|---|
/// | 0 | its own number, u64 |
/// | 10 | kind, u16 |
/// | 12 | `lower`, u16: the end of the list of entries; in the first page of a large value the number of pages, u32 |
/// | 14 | `upper`, u16: the beginning of the entries |
/// | 16 | the list: for each entry where it begins, u16, in the order of the keys |
///
/// Entries fill the page from `upper` to its end, in any order and without gaps, each of an even size:
///
/// | offset | what |
/// |---|---|
/// | 0 | in a leaf the size of the value, u32; in a branch the page below, 48 bits |
/// | 4 | in a leaf flags, u16 |
/// | 6 | size of the key, u16 |
/// | 8 | the key, and in a leaf after it the value, or the number of its first page |
enum PageLayout {
    static let headerBytes = 16
    static let nodeBytes = 8
    static let branch: UInt16 = 1
    static let leaf: UInt16 = 2
    static let overflow: UInt16 = 4
    /// Flag of an entry: the value is in pages of its own.
    static let bigValue: UInt16 = 1
    /// Flag of an entry: the value is the record of a table.
    static let table: UInt16 = 2
    /// The root of an empty table.
    static let noPage = UInt64.max
    /// Pages 0 and 1 are the header.
    static let firstPage: UInt64 = 2
    /// More levels than any file within LMDB's limits needs.
    static let maximumDepth = 24
    static let maximumKeyBytes = 511

    static func isPageSize(_ byteCount: Int) -> Bool {
        (512...65_536).contains(byteCount) && byteCount & (byteCount - 1) == 0
    }

    /// The number of pages that a large value takes.
    static func overflowPages(_ byteCount: Int, pageSize: Int) -> Int {
        (headerBytes + byteCount + pageSize - 1) / pageSize
    }
}

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

    /// The first page and the size of a value that has pages of its own; nil for any other.
    func largeValue(_ index: Int) -> (page: UInt64, byteCount: Int)? {
        guard let value = value(index), value.isBig, let page = number(at: value.offset) else { return nil }
        return (page, value.byteCount)
    }

    /// The number at `offset`; nil unless it is inside of the page.
    func number(at offset: Int) -> UInt64? {
        guard offset >= 0, offset + 8 <= size else { return nil }
        return unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    /// The integer at `offset`, in host byte order.
    ///
    /// - Parameter offset: inside of the page, with all of the integer.
    @inline(__always)
    func integer<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: Number.Type) -> Number {
        precondition(offset >= 0 && offset + MemoryLayout<Number>.size <= size, "Outside of the page.")
        return unsafe base.loadUnaligned(fromByteOffset: offset, as: type)
    }

    /// - Parameter offset: inside of the page.
    func byte(at offset: Int) -> UInt8 {
        precondition(offset >= 0 && offset < size, "Outside of the page.")
        return unsafe base.load(fromByteOffset: offset, as: UInt8.self)
    }

    /// How many bytes of the beginning of a page of a tree are in use, and of its end: between them is nothing.
    ///
    /// All of a page whose numbers make no sense.
    var usedHead: Int { hasGap ? lower : size }
    var usedTail: Int { hasGap ? size - upper : 0 }

    private var hasGap: Bool { lower >= PageLayout.headerBytes && lower <= upper && upper <= size }
}
