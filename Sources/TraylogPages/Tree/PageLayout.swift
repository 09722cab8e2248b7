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

    /// The number of pages that a large value takes.
    static func overflowPages(_ byteCount: Int, pageSize: Int) -> Int {
        (headerBytes + byteCount + pageSize - 1) / pageSize
    }
}
