/// Writes the seals of commits.
///
/// The one thread that writes the file uses it.
package final class Sealer {
    private let pages: PageMap
    private let new: Snapshot
    private let old: Snapshot

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
            case .whole = try new.load(commit), case .perhapsTorn = try old.load(commit - 1),
            let numbers = try WrittenPages.numbers(of: new, since: old, limit: Seal.maximumPages),
            let last = numbers.max(), last <= UInt64(UInt32.max)
        else { return false }
        let seal = Seal.make(commit, numbers, in: pages)
        try pages.write(RawSpan(_elements: seal.span), at: commit & 1, Seal.offset)
        return true
    }
}
