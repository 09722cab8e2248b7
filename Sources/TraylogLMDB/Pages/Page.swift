import TraylogPlatform

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

extension Page {
    /// The place of a key in a leaf, or the place where it would be.
    struct Found {
        var index: Int
        var isExact: Bool
    }

    /// The first entry of a leaf that is not less than `key`; nil on damage.
    @inline(__always)
    func search(_ key: KeyBytes) -> Found? {
        var low = 0
        var high = count
        if let guess = distance(from: 0, to: key), guess < UInt64(high) {
            // Where no number is missing, as in the log, this is the place: two looks instead of five.
            guard let stored = self.key(Int(guess)) else { return nil }
            let order = stored.compare(key)
            if order == 0 { return Found(index: Int(guess), isExact: true) }
            if order < 0 { low = Int(guess) + 1 } else { high = Int(guess) }
        }
        while low < high {
            let middle = (low + high) >> 1
            guard let stored = self.key(middle) else { return nil }
            let order = stored.compare(key)
            if order == 0 { return Found(index: middle, isExact: true) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return Found(index: low, isExact: false)
    }

    /// The entry of a branch below which `key` belongs; nil on damage.
    @inline(__always)
    func childIndex(for key: KeyBytes) -> Int? {
        guard let near = neighborhood(of: key) else { return nil }
        return lastEntry(near) { $0.compare(key) <= 0 }
    }

    /// The entries of a branch among which a binary search for the first one above `key` has to look; nil on damage.
    ///
    /// Where keys are numbers at about the same distance, as in the log, these are a few around the place that they
    /// would have at exactly the same one: two or three lines of memory are looked at instead of eight.
    @inline(__always)
    private func neighborhood(of key: KeyBytes) -> Range<Int>? {
        guard count > 16, let span = distance(from: 1, to: self.key(count - 1)), let part = distance(from: 1, to: key),
            part < span, span < 1 << 48
        else { return compared }
        let guess = 1 + Int(part &* UInt64(count - 2) / span)
        guard let stored = self.key(guess) else { return nil }
        return stored.compare(key) <= 0 ? above(guess, key) : below(guess, key)
    }

    /// Entries above one that is not above `key`, in steps that double.
    private func above(_ entry: Int, _ key: KeyBytes) -> Range<Int>? {
        var low = entry + 1
        var step = 1
        while low + step < count {
            guard let stored = self.key(low + step) else { return nil }
            guard stored.compare(key) <= 0 else { return low..<(low + step) }
            low += step + 1
            step *= 2
        }
        return low..<count
    }

    /// The same below one that is above `key`.
    private func below(_ entry: Int, _ key: KeyBytes) -> Range<Int>? {
        var high = entry
        var step = 1
        while high - step > 1 {
            guard let stored = self.key(high - step) else { return nil }
            guard stored.compare(key) > 0 else { return (high - step + 1)..<high }
            high -= step
            step *= 2
        }
        return 1..<high
    }

    /// The distance from the key of an entry up to a number; nil unless both are keys of eight bytes.
    @inline(__always)
    private func distance(from index: Int, to key: KeyBytes?) -> UInt64? {
        guard let key, let number = key.bigEndian, let first = self.key(index)?.bigEndian, number >= first else {
            return nil
        }
        return number - first
    }

    /// The entry of a branch below which the keys right before `key` belong; nil on damage.
    func childIndex(before key: KeyBytes) -> Int? { lastEntry(compared) { $0.compare(key) < 0 } }

    /// The same as ``childIndex(for:)`` in the list of free pages, whose keys are numbers.
    func childIndex(forNumber key: UInt64) -> Int? { lastEntry(compared) { $0.number.map { $0 <= key } } }

    /// The entries of a branch whose keys count: the first one stands for all that is less than the second one.
    private var compared: Range<Int> { 1..<max(count, 1) }

    /// The last of some entries that belongs before a place, or else the one before all of them; nil on damage.
    @inline(__always)
    private func lastEntry(_ entries: Range<Int>, _ belongsBefore: (KeyBytes) -> Bool?) -> Int? {
        var (low, high) = (entries.lowerBound, entries.upperBound)
        while low < high {
            let middle = (low + high) >> 1
            guard let stored = self.key(middle), let isBefore = belongsBefore(stored) else { return nil }
            if isBefore { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    /// The limits of a table's keys and values.
    enum Content {
        /// A table of the store.
        case rows
        /// The table of tables.
        case tables
        /// LMDB's list of free pages.
        case freePages
    }

    /// Looks at all of a branch or leaf: entries inside, side by side and without gaps, keys ascending, pages in range.
    ///
    /// - Parameter pageCount: of the file.
    /// - Complexity: O(entries); some 5 ns for each.
    func fault(isLeaf: Bool, _ content: Content, pageCount: UInt64) -> PageFault? {
        let (lower, upper) = (lower, upper)
        guard lower & 1 == 0, lower >= PageLayout.headerBytes + 2, lower <= upper, upper <= size else {
            return .entries
        }
        var bytes = 0
        var previous = KeyBytes.none
        for index in 0..<count {
            guard let node = node(index), node >= upper, let key = key(index) else { return .entries }
            var nodeBytes = PageLayout.nodeBytes + key.count
            if isLeaf {
                guard let value = value(index), isSound(key, value, content) else { return .entries }
                nodeBytes += value.isBig ? 8 : value.byteCount
            } else {
                guard let child = child(index), child >= PageLayout.firstPage, child < pageCount else { return .child }
                guard key.count <= PageLayout.maximumKeyBytes else { return .entries }
            }
            bytes += (nodeBytes + 1) & ~1
            // The first key of a branch is not looked at by anybody.
            if isLeaf || index > 0 {
                if !previous.isNone, !isAscending(previous, key, content) { return .order }
                previous = key
            }
        }
        return bytes == size - upper ? nil : .space
    }

    private func isAscending(_ first: KeyBytes, _ second: KeyBytes, _ content: Content) -> Bool {
        guard case .freePages = content else { return first.compare(second) < 0 }
        guard let first = first.number, let second = second.number else { return false }
        return first < second
    }

    private func isSound(_ key: KeyBytes, _ value: Value, _ content: Content) -> Bool {
        switch content {
        case .rows: (1...PageLayout.maximumKeyBytes).contains(key.count) && value.flags & ~PageLayout.bigValue == 0
        case .tables: key.count > 0 && value.flags == PageLayout.table && value.byteCount == TableRecord.byteCount
        case .freePages: key.count == 8 && value.flags & ~PageLayout.bigValue == 0
        }
    }
}

/// A fault of a page.
enum PageFault: Hashable, Sendable {
    case outside, beyondEnd, misplaced, kind, entries, order, space, child, value, range, free, twice, depth, record
    case count, lost

    var words: String {
        switch self {
        case .outside: "is not a page of the file"
        case .beyondEnd: "lies beyond the end of the file"
        case .misplaced: "has another number"
        case .kind: "is of another kind"
        case .entries: "has entries outside of it"
        case .order: "has keys out of order"
        case .space: "has entries that do not fill it"
        case .child: "refers to a page outside of the file"
        case .value: "has a large value whose pages are not its own"
        case .range: "has keys that belong elsewhere"
        case .free: "is in use and listed as free"
        case .twice: "is in use twice"
        case .depth: "is at another depth than the table says"
        case .record: "has a table's record that makes no sense"
        case .count: "does not hold what its record counts"
        case .lost: "belongs to no table and is not free"
        }
    }
}

/// A key where it stands: in a page, or in the caller's memory.
///
/// It must not be kept longer than that lasts.
@safe
struct KeyBytes {
    let base: UnsafeRawPointer?
    let count: Int

    /// No key at all: the end of a range that has none.
    static var none: KeyBytes { unsafe KeyBytes(base: nil, count: 0) }

    @unsafe init(base: UnsafeRawPointer?, count: Int) {
        unsafe self.base = base
        self.count = count
    }

    @unsafe init(_ bytes: UnsafeRawBufferPointer) {
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
