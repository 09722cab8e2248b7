import TraylogPlatform

/// A journal as it was found: the newest bytes of each page that its commits wrote, as far as they are whole.
struct JournalContents {
    /// LMDB's fields of a commit.
    private struct Commit {
        var number: UInt64
        /// Where the fields are.
        var place: Int
    }

    /// Where the bytes of a page are.
    private struct Image {
        var place: Int
        var head: Int
        var tail: Int
    }

    let pageSize: Int
    /// The commit that all others follow, which the data file has on disk.
    let base: UInt64
    private let bytes: [UInt8]
    private var images: [UInt64: Image] = [:]
    /// The last two commits.
    private var before: Commit?
    private var last: Commit

    /// - Parameters:
    ///   - path: the journal.
    ///   - number: the data file's; nil takes any journal.
    /// - Returns: nil when there is none, or when it belongs to another data file.
    init?(path: String, number: JournalNumber? = nil) {
        guard let file = try? FileDescriptor(opening: path, .reading) else { return nil }
        defer { file.close() }
        guard let size = file.size, size > JournalLayout.headBytes,
            let bytes = try? file.read(min(Int(size), JournalLayout.capacityBytes), at: 0),
            let header = JournalPart(bytes, 0, JournalLayout.headBytes), header.isWhole,
            header.integer(4, UInt32.self) == JournalLayout.magic, let own = JournalNumber(header.number),
            own == number ?? own
        else { return nil }
        let pageSize = Int(header.integer(JournalLayout.countOffset, UInt32.self))
        guard PageLayout.isPageSize(pageSize) else { return nil }
        self.bytes = bytes
        self.pageSize = pageSize
        base = header.integer(JournalLayout.commitOffset, UInt64.self)
        last = Commit(number: base, place: JournalLayout.fieldsOffset)
        var place = JournalLayout.blockBytes
        while let next = take(place, own) { place = next }
    }

    /// The newest commit that is whole.
    var newest: UInt64 { last.number }

    /// Whether there is any that the data file may lack.
    var isEmpty: Bool { before == nil }

    /// The pages, in the order of their numbers.
    var pages: [UInt64] { images.keys.sorted() }

    /// Adds the pages of an entry.
    ///
    /// - Returns: where the next one begins; nil when this one is none that follows the one before.
    private mutating func take(_ start: Int, _ number: JournalNumber) -> Int? {
        guard let head = JournalPart(bytes, start, JournalLayout.headBytes),
            head.number == number.bytes,
            head.integer(JournalLayout.commitOffset, UInt64.self) == newest &+ 1,
            let entry = JournalPart(bytes, start, Int(head.integer(4, UInt32.self))), entry.isWhole
        else { return nil }
        let count = Int(head.integer(JournalLayout.countOffset, UInt32.self))
        guard count <= (entry.count - JournalLayout.headBytes) / JournalLayout.pageBytes else { return nil }
        var added: [(UInt64, Image)] = []
        var place = start + JournalLayout.headBytes + count * JournalLayout.pageBytes
        for index in 0..<count {
            let row = JournalLayout.headBytes + index * JournalLayout.pageBytes
            let page = entry.integer(row, UInt64.self)
            let head = Int(entry.integer(row + 8, UInt32.self))
            let tail = Int(entry.integer(row + 12, UInt32.self))
            guard page >= PageLayout.firstPage, page < 1 << 47 / UInt64(pageSize), head + tail <= pageSize,
                place + head + tail <= start + entry.count
            else { return nil }
            added.append((page, Image(place: place, head: head, tail: tail)))
            place += head + tail
        }
        for (page, image) in added { images[page] = image }
        before = last
        last = Commit(number: newest &+ 1, place: start + JournalLayout.fieldsOffset)
        return start + JournalLayout.wholeBlocks(entry.count)
    }

    /// All of a page, with zeros where nothing is.
    func page(_ number: UInt64) -> [UInt8] {
        guard let image = images[number] else { return [] }
        var page = [UInt8](repeating: 0, count: pageSize)
        page.replaceSubrange(..<image.head, with: bytes[image.place..<image.place + image.head])
        let tail = bytes[image.place + image.head..<image.place + image.head + image.tail]
        page.replaceSubrange((pageSize - image.tail)..., with: tail)
        return page
    }

    /// Whether a page of the data file says the same.
    func isSame(_ number: UInt64, as page: [UInt8]) -> Bool {
        guard let image = images[number], page.count == pageSize else { return false }
        let tail = image.place + image.head
        return page[..<image.head] == bytes[image.place..<tail]
            && page[(pageSize - image.tail)...] == bytes[tail..<tail + image.tail]
    }

    /// LMDB's fields of the last two commits, and that they are on disk.
    var fields: [(commit: UInt64, bytes: [UInt8])] {
        [before, last].compactMap { commit in
            guard let commit else { return nil }
            let fields = bytes[commit.place..<commit.place + MetaPage.fields.count]
            return (commit.number, Array(fields) + Array(repeating: 0, count: MetaPage.mark.count))
        }
    }
}

/// Some bytes of a journal that begin with a checksum.
private struct JournalPart {
    private let bytes: ArraySlice<UInt8>
    let count: Int

    /// Nil when they are not all there.
    init?(_ bytes: [UInt8], _ start: Int, _ count: Int) {
        guard count >= JournalLayout.headBytes, start <= bytes.count, count <= bytes.count - start else { return nil }
        self.bytes = bytes[start..<start + count]
        self.count = count
    }

    var isWhole: Bool {
        unsafe bytes.withUnsafeBytes { unsafe JournalLayout.checksum($0) == $0.loadUnaligned(as: UInt32.self) }
    }

    var number: [UInt8] {
        Array(bytes.dropFirst(JournalLayout.numberOffset).prefix(JournalNumber.byteCount))
    }

    /// - Parameter offset: inside, with the bytes of the integer.
    func integer<Number: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _ type: Number.Type) -> Number {
        precondition(offset >= 0 && offset + MemoryLayout<Number>.size <= count, "Outside of the part.")
        return unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: type) }
    }
}
