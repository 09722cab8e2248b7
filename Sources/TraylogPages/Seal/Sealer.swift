/// Writes the seals of commits.
///
/// The one thread that writes the file uses it.
package final class Sealer {
    private let pages: PageMap
    private var new: Snapshot
    private var old: Snapshot
    private var written = WrittenPages()
    private var seal: [UInt8] = []

    /// - Parameter pages: of a file that is open for writing.
    package init(_ pages: PageMap) {
        self.pages = pages
        new = Snapshot(pages)
        old = Snapshot(pages)
    }

    /// Writes the seal of a commit that LMDB has just made.
    ///
    /// - Returns: false for a commit that gets none, because it wrote too many pages.
    package func seal(_ commit: UInt64) throws(LMDBError) -> Bool {
        guard pages.pageSize >= Seal.offset + Seal.headerBytes + 4 * Seal.maximumPages,
            case .whole = try new.load(commit), try shows(commit - 1),
            try written.find(of: new, since: old, limit: Seal.maximumPages),
            let last = written.numbers.max(), last <= UInt64(UInt32.max)
        else { return false }
        Seal.make(commit, written.numbers, in: pages, &seal)
        let bytes = seal
        try pages.write(RawSpan(_elements: bytes.span), at: commit & 1, Seal.offset)
        swap(&new, &old)
        return true
    }

    /// Forgets the last commit, which failed: another one may get its number.
    package func forget() { old.forget() }

    /// Whether the commit before can be told, from the last seal or from its page of the header.
    private func shows(_ commit: UInt64) throws(LMDBError) -> Bool {
        if old.shows(commit) { return true }
        if case .gone = try old.load(commit) { return false }
        return true
    }
}
