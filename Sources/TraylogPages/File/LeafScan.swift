import TraylogPlatform

/// The leaf pages of a data file, wherever they are, without the trees that lead to them.
///
/// For a file that is damaged: every page is looked at for itself, those of older commits included, and trusted no
/// further than its bytes are there.
package struct LeafScan {
    /// One entry of a leaf.
    package struct Entry {
        /// In the page.
        package let key: Range<Int>
        /// In the page, too: the value, or where it is large the number of its first page.
        package let value: Range<Int>
        /// The size of a value that has pages of its own; nil for one that is in the leaf.
        package let largeByteCount: Int?
        /// Where the value is in the file; for a large one, on its first page.
        package let offset: UInt64
    }

    private static let bytesAtOnce = 4 << 20
    private static let usualPageSize = 4_096

    private let file: FileDescriptor
    private let pageSize: Int
    private let byteCount: UInt64

    /// - Parameter file: stays the caller's.
    package init(_ file: FileDescriptor) {
        self.file = file
        let header = try? DataFileHeader.read(file)
        pageSize = header?.pageSize ?? Self.usualPageSize
        let size = UInt64(max(file.size ?? 0, 0))
        // Nothing behind the last page was ever committed.
        byteCount = min(size, header?.coveredBytes.map(UInt64.init) ?? size)
    }

    /// Visits the entries of all pages that look like leaves.
    ///
    /// - Throws: what reading throws, and what `body` throws.
    /// - Complexity: reads the file once.
    package func forEachEntry(_ body: (_ page: RawSpan, Entry) throws -> Void) throws {
        var offset = UInt64(0)
        while offset < byteCount {
            let bytes = try file.read(Int(min(UInt64(Self.bytesAtOnce), byteCount - offset)), at: Int64(offset))
            guard bytes.count >= pageSize else { return }
            let all = RawSpan(_elements: bytes.span)
            for index in 0..<bytes.count / pageSize {
                let start = index * pageSize
                try visit(all.extracting(start..<start + pageSize), at: offset + UInt64(start), body)
            }
            offset += UInt64(bytes.count / pageSize * pageSize)
        }
    }

    /// Bytes of the file; fewer where it ends.
    package func bytes(at offset: UInt64, count: Int) throws -> [UInt8] {
        guard let offset = Int64(exactly: offset) else { return [] }
        return try file.read(count, at: offset)
    }

    private func visit(_ page: RawSpan, at start: UInt64, _ body: (_ page: RawSpan, Entry) throws -> Void) throws {
        guard page.integer(at: 10, as: UInt16.self) & 0xF == PageLayout.leaf else { return }
        let lower = Int(page.integer(at: 12, as: UInt16.self))
        guard lower >= PageLayout.headerBytes, lower <= pageSize else { return }
        for place in stride(from: PageLayout.headerBytes, to: lower - 1, by: 2) {
            let node = Int(page.integer(at: place, as: UInt16.self))
            guard node >= PageLayout.headerBytes, node + PageLayout.nodeBytes <= pageSize else { continue }
            let byteCount = Int(page.integer(at: node, as: UInt32.self))
            let isLarge = page.integer(at: node + 4, as: UInt16.self) & PageLayout.bigValue != 0
            let key = node + PageLayout.nodeBytes
            let value = key + Int(page.integer(at: node + 6, as: UInt16.self))
            let end = value + (isLarge ? 8 : byteCount)
            guard value <= pageSize, end <= pageSize else { continue }
            var offset = start + UInt64(value)
            if isLarge {
                let (first, overflows) = page.integer(at: value, as: UInt64.self).multipliedReportingOverflow(
                    by: UInt64(pageSize))
                guard !overflows, first < self.byteCount else { continue }
                offset = first + UInt64(PageLayout.headerBytes)
            }
            try body(
                page,
                Entry(
                    key: key..<value, value: value..<end, largeByteCount: isLarge ? byteCount : nil, offset: offset))
        }
    }
}

extension RawSpan {
    /// The integer at `offset`, in host byte order.
    fileprivate func integer<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: Number.Type)
        -> Number
    {
        unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: type)
    }
}
