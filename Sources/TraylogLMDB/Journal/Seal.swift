import CTraylogCRC
import TraylogPlatform

/// The proof that a commit without an entry in the journal is whole: the pages that it wrote, and one checksum over them.
///
/// It lies in the commit's page of the header, behind LMDB's fields, until the commit after the next one replaces it, so
/// that one sync of the data file is enough.
///
/// | offset | what |
/// |---|---|
/// | 512 | CRC-32C, u32, of the rest of the seal ‖ LMDB's fields ‖ the pages, in the order of the list |
/// | 516 | the number of pages, u32 |
/// | 520 | the commit, u64 |
/// | 528 | the pages, u32 each |
enum Seal {
    static let offset = 512
    static let headerBytes = 16

    /// With more pages, a second sync is a small part of what the commit costs.
    static let maximumPages = 256

    /// - Parameters:
    ///   - numbers: at most ``maximumPages``.
    ///   - seal: becomes the seal.
    /// - Returns: false when a number is too large, or the pages are too small.
    static func make(_ commit: UInt64, _ numbers: [UInt64], in pages: PageMap, _ seal: inout [UInt8]) -> Bool {
        guard pages.pageSize >= offset + headerBytes + 4 * maximumPages, let last = numbers.max(),
            last <= UInt64(UInt32.max)
        else { return false }
        seal.removeAll(keepingCapacity: true)
        append(UInt32(0), to: &seal)
        append(UInt32(numbers.count), to: &seal)
        append(commit, to: &seal)
        for number in numbers { append(UInt32(number), to: &seal) }
        let checksum = unsafe seal.withUnsafeBytes { unsafe self.checksum($0, commit, numbers, in: pages) }
        unsafe seal.withUnsafeMutableBytes { unsafe $0.storeBytes(of: checksum, as: UInt32.self) }
        return true
    }

    /// The pages of the seal behind a commit's fields, if it is that commit's and everything is as it says; else nil.
    ///
    /// - Complexity: O(pages of the list).
    static func pages(of commit: UInt64, in pages: PageMap) -> [UInt64]? {
        guard pages.pageSize >= offset + headerBytes + 4 * maximumPages, pages.readablePages(2) == 2 else { return nil }
        let page = pages.page(commit & 1)
        let bytes = unsafe UnsafeRawBufferPointer(start: page.base + offset, count: headerBytes + 4 * maximumPages)
        let count = Int(unsafe bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        guard count <= maximumPages, page.number(at: offset + 8) == commit else { return nil }
        let seal = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<(headerBytes + 4 * count)])
        let numbers = (0..<count).map { index in
            UInt64(unsafe seal.loadUnaligned(fromByteOffset: headerBytes + 4 * index, as: UInt32.self))
        }
        guard let last = numbers.max(), numbers.allSatisfy({ $0 >= PageLayout.firstPage }),
            last < pages.readablePages(last + 1),
            unsafe checksum(seal, commit, numbers, in: pages) == seal.loadUnaligned(as: UInt32.self)
        else { return nil }
        return numbers
    }

    /// - Parameter seal: all of it; the place of the checksum is left out.
    private static func checksum(
        _ seal: UnsafeRawBufferPointer, _ commit: UInt64, _ numbers: [UInt64], in pages: PageMap
    ) -> UInt32 {
        var crc = unsafe traylog_crc32c(0, seal.baseAddress! + 4, seal.count - 4)
        unsafe crc = traylog_crc32c(
            crc, pages.page(commit & 1).base + MetaPage.fields.lowerBound, MetaPage.fields.count)
        for number in numbers { unsafe crc = traylog_crc32c(crc, pages.page(number).base, pages.pageSize) }
        return crc
    }

    private static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
        unsafe withUnsafeBytes(of: number) { unsafe bytes.append(contentsOf: $0) }
    }
}
