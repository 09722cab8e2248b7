import CTraylogCRC

/// The bytes of a journal: the pages that small commits wrote, commit after commit, each with a checksum.
///
/// The first block is the header; then come the entries, in whole blocks. Integers are in host byte order, like LMDB's.
///
/// | header offset | what |
/// |---|---|
/// | 0 | CRC-32C, u32, of the rest through 175 |
/// | 4 | magic, u32 |
/// | 8 | the journal's number: 16 random bytes, which the data file has at ``MetaPage/journal`` |
/// | 24 | the commit that the first entry follows, u64: with all before it, it is in the data file, on disk |
/// | 32 | the page size of the data file, u32 |
/// | 40 | LMDB's fields of that commit: bytes 16 to 151 of its page of the header |
///
/// | entry offset | what |
/// |---|---|
/// | 0 | CRC-32C, u32, of the rest of the entry |
/// | 4 | the bytes of the entry, u32, without what fills its last block |
/// | 8 | the journal's number |
/// | 24 | the commit, u64: the one after the previous entry's |
/// | 32 | the number of pages, u32 |
/// | 40 | LMDB's fields of the commit |
/// | 176 | for each page: its number, u64; how many bytes of its beginning are here, u32, and of its end, u32 |
/// | … | those bytes |
enum JournalLayout {
    static let magic: UInt32 = 0x4A4C_5254
    static let blockBytes = 4_096
    static let headBytes = 176
    static let pageBytes = 16
    static let numberOffset = 8
    static let commitOffset = 24
    static let countOffset = 32
    static let fieldsOffset = 40

    /// The largest size of the file.
    static let capacityBytes = 2 << 20
    /// A commit of more pages has a ``Seal`` instead: writing its pages twice would cost more than the places of the data
    /// file do.
    static let maximumPages = 32

    static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        guard let base = bytes.baseAddress, bytes.count > 4 else { return 0 }
        return unsafe traylog_crc32c(0, base + 4, bytes.count - 4)
    }

    static func wholeBlocks(_ byteCount: Int) -> Int { (byteCount + blockBytes - 1) / blockBytes * blockBytes }
}

/// The number of a journal, by which it and its data file know each other.
struct JournalNumber: Hashable {
    var bytes: [UInt8]

    static let byteCount = 16

    /// Nil for zeros: a data file without journal.
    init?(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
        guard self.bytes.count == Self.byteCount, self.bytes.contains(where: { $0 != 0 }) else { return nil }
    }
}
