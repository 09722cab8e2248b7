import TraylogPlatform

/// LMDB's list of free pages, read from the file without LMDB.
///
/// It decides whether a short file is healthy: pages that a transaction took and gave up again are never written, so
/// the file may end before its last page if all pages after its end are free. Everything read here is checked, because
/// the file may be damaged.
struct FreePageList {
    let file: FileDescriptor
    let pageSize: Int
    /// Whole pages in the file.
    let pageCount: UInt64

    /// The root number that LMDB writes for an empty tree.
    private static let noPage = UInt64.max
    private static let branchFlag: UInt16 = 1
    private static let leafFlag: UInt16 = 2
    private static let overflowFlag: UInt16 = 4
    private static let bigValueFlag: UInt16 = 1
    private static let maximumDepth = 32

    /// Whether every page in `wanted` is in the list.
    ///
    /// - Complexity: O(pages of the list + wanted).
    func contains(_ wanted: ClosedRange<UInt64>, root: UInt64) -> Bool {
        guard root != Self.noPage else { return false }
        guard wanted.count <= 1 << 24 else { return false }
        var missing = Set(wanted)
        guard visit(root, depth: 0, { missing.remove($0) }) else { return false }
        return missing.isEmpty
    }

    /// Calls `body` with each free page under `page`; false when the tree is damaged.
    private func visit(_ page: UInt64, depth: Int, _ body: (UInt64) -> Void) -> Bool {
        guard depth < Self.maximumDepth, let bytes = read(page, pages: 1) else { return false }
        let flags = bytes.integer(at: 10, as: UInt16.self)
        let lower = Int(bytes.integer(at: 12, as: UInt16.self))
        guard lower >= 16, lower <= pageSize else { return false }
        for index in 0..<(lower - 16) / 2 {
            let node = Int(bytes.integer(at: 16 + 2 * index, as: UInt16.self))
            guard node >= lower, node + 8 <= pageSize else { return false }
            let low = UInt64(bytes.integer(at: node, as: UInt16.self))
            let high = UInt64(bytes.integer(at: node + 2, as: UInt16.self))
            let nodeFlags = bytes.integer(at: node + 4, as: UInt16.self)
            let keySize = Int(bytes.integer(at: node + 6, as: UInt16.self))
            if flags & Self.branchFlag != 0 {
                let child = low | high << 16 | UInt64(nodeFlags) << 32
                guard visit(child, depth: depth + 1, body) else { return false }
            } else if flags & Self.leafFlag != 0 {
                let size = Int(low | high << 16)
                let isBig = nodeFlags & Self.bigValueFlag != 0
                guard visitValue(bytes, at: node + 8 + keySize, size: size, isBig: isBig, body) else { return false }
            } else {
                return false
            }
        }
        return true
    }

    /// One value of the list: a count, then that many page numbers, perhaps on pages of their own.
    private func visitValue(
        _ leaf: FileBytes, at offset: Int, size: Int, isBig: Bool, _ body: (UInt64) -> Void
    ) -> Bool {
        var bytes = leaf
        var offset = offset
        if isBig {
            guard offset + 8 <= pageSize else { return false }
            let page = leaf.integer(at: offset, as: UInt64.self)
            let pages = (16 + size + pageSize - 1) / pageSize
            guard let overflow = read(page, pages: pages),
                overflow.integer(at: 10, as: UInt16.self) & Self.overflowFlag != 0
            else { return false }
            bytes = overflow
            offset = 16
        }
        guard size >= 8, offset + size <= bytes.bytes.count else { return false }
        let count = bytes.integer(at: offset, as: UInt64.self)
        guard count <= UInt64(size / 8 - 1) else { return false }
        for index in 0..<Int(count) {
            body(bytes.integer(at: offset + 8 + 8 * index, as: UInt64.self))
        }
        return true
    }

    private func read(_ page: UInt64, pages: Int) -> FileBytes? {
        guard page < pageCount, UInt64(pages) <= pageCount - page else { return nil }
        let bytes = FileBytes(file, at: Int64(page) * Int64(pageSize), count: pages * pageSize)
        guard let bytes, bytes.integer(at: 0, as: UInt64.self) == page else { return nil }
        return bytes
    }
}
