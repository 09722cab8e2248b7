import TraylogPlatform

/// The leaf pages of a data file and of its journal, wherever they are, without the trees that lead to them.
///
/// For a file that is damaged: every page is looked at for itself, those of older commits included, and trusted no
/// further than its bytes are there. After a power cut the pages of the newest commits may be in the journal alone.
package struct LeafScan {
    /// Where a value begins.
    package struct Place: Comparable {
        private static let journal: UInt64 = 1 << 63
        private let bits: UInt64

        fileprivate init(offset: UInt64, isInJournal: Bool) {
            bits = offset & ~Self.journal | (isInJournal ? Self.journal : 0)
        }

        /// In the data file, of which the journal has newer pages.
        fileprivate var offset: UInt64 { bits & ~Self.journal }
        fileprivate var isInJournal: Bool { bits & Self.journal != 0 }

        package static func < (one: Place, other: Place) -> Bool { one.bits < other.bits }
    }

    /// One entry of a leaf.
    package struct Entry {
        /// In the page.
        package let key: Range<Int>
        /// In the page, too: the value, or where it is large the number of its first page.
        package let value: Range<Int>
        /// The size of a value that has pages of its own; nil for one that is in the leaf.
        package let largeByteCount: Int?
        /// Where the value is; for a large one, on its first page.
        package let place: Place
    }

    private static let bytesAtOnce = 4 << 20
    private static let usualPageSize = 4_096

    private let file: FileDescriptor
    private let journal: JournalContents?
    private let pageSize: Int
    private let byteCount: UInt64

    /// - Parameters:
    ///   - file: stays the caller's.
    ///   - journalPath: the journal beside it, if there is one.
    package init(_ file: FileDescriptor, journal journalPath: String) {
        self.file = file
        let header = try? DataFileHeader(file)
        let journal = Self.journal(journalPath, of: file)
        pageSize = header?.pageSize ?? journal?.pageSize ?? Self.usualPageSize
        self.journal = journal?.pageSize == pageSize ? journal : nil
        let size = UInt64(max(file.size ?? 0, 0))
        // Nothing behind the last page was ever committed.
        byteCount = min(size, header?.coveredBytes.map(UInt64.init) ?? size)
    }

    /// That of the file as far as its first page tells.
    private static func journal(_ path: String, of file: FileDescriptor) -> JournalContents? {
        let first = MetaPage.read(file, at: 0) { (isLMDBs: $0.isLMDBs, journal: $0.journal) }
        guard let first, first.isLMDBs else { return JournalContents(path: path) }
        return first.journal.flatMap { JournalContents(path: path, number: $0) }
    }

    /// Visits the entries of all pages that look like leaves.
    ///
    /// - Throws: what reading throws, and what `body` throws.
    /// - Complexity: reads both files once.
    package func forEachEntry(_ body: (_ page: RawSpan, Entry) throws -> Void) throws {
        var offset = UInt64(0)
        while offset < byteCount {
            let bytes = try file.read(Int(min(UInt64(Self.bytesAtOnce), byteCount - offset)), at: Int64(offset))
            guard bytes.count >= pageSize else { return }
            let all = RawSpan(_elements: bytes.span)
            for index in 0..<bytes.count / pageSize {
                let start = index * pageSize
                let place = Place(offset: offset + UInt64(start), isInJournal: false)
                try visit(all.extracting(start..<start + pageSize), at: place, body)
            }
            offset += UInt64(bytes.count / pageSize * pageSize)
        }
        guard let journal else { return }
        for number in journal.pages {
            let page = journal.page(number)
            let place = Place(offset: number * UInt64(pageSize), isInJournal: true)
            try visit(RawSpan(_elements: page.span), at: place, body)
        }
    }

    /// Bytes of a value; fewer where the file ends.
    package func bytes(at place: Place, count: Int) throws -> [UInt8] {
        guard place.isInJournal, let journal else { return try file.read(count, at: Int64(place.offset)) }
        // An older page of the file leads to older pages of the file, one of the journal to the newest ones.
        var (bytes, offset): ([UInt8], UInt64) = ([], place.offset)
        while bytes.count < count {
            let (number, start) = (offset / UInt64(pageSize), Int(offset % UInt64(pageSize)))
            let length = min(count - bytes.count, pageSize - start)
            let newest = journal.page(number)
            let part =
                newest.isEmpty ? try file.read(length, at: Int64(offset)) : Array(newest[start..<start + length])
            guard !part.isEmpty else { break }
            bytes += part
            offset += UInt64(part.count)
        }
        return bytes
    }

    private func visit(_ bytes: RawSpan, at start: Place, _ body: (_ page: RawSpan, Entry) throws -> Void) throws {
        try unsafe bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            let page = unsafe Page(base: base, size: pageSize)
            guard page.flags & 0xF == PageLayout.leaf else { return }
            for index in 0..<page.count {
                guard let key = page.key(index), let value = page.value(index) else { continue }
                let large = page.largeValue(index)
                var offset = start.offset + UInt64(value.offset)
                if let large {
                    let (first, overflows) = large.page.multipliedReportingOverflow(by: UInt64(pageSize))
                    // What only the journal has may lie behind the end of the file.
                    guard !overflows, first < (start.isInJournal ? 1 << 62 : byteCount) else { continue }
                    offset = first + UInt64(PageLayout.headerBytes)
                }
                let end = value.offset + (large == nil ? value.byteCount : 8)
                try body(
                    unsafe bytes.bytes,
                    Entry(
                        key: value.offset - key.count..<value.offset, value: value.offset..<end,
                        largeByteCount: large?.byteCount, place: Place(offset: offset, isInJournal: start.isInJournal)))
            }
        }
    }
}
