import TraylogPlatform

extension PageMap {
    /// Whether a commit may not be on disk, so that no answer may rest on it.
    @inline(__always)
    package func isPending(_ commit: UInt64) -> Bool { mark(of: commit) == ~commit && commit != confirmed }

    /// Whether a commit changes nothing, because it was taken back.
    func isTakenBack(_ commit: UInt64) -> Bool { mark(of: commit) == commit }

    /// Notes that a commit is pending, or that it is on disk; for the one process that may write the file.
    package func notePending(_ commit: UInt64, _ isPending: Bool) throws(LMDBError) {
        try unsafe withUnsafeBytes(of: isPending ? ~commit : 0) { (mark) throws(LMDBError) in
            unsafe try write(RawSpan(_unsafeBytes: mark), at: commit & 1, MetaPage.mark.lowerBound)
        }
    }

    /// Makes a commit that nobody was answered from one that changes nothing; for the one process that may write the file,
    /// which syncs it before it writes anything else.
    package func takeBack(_ commit: UInt64) throws(LMDBError) {
        let bytes = fieldsOfOther(commit, number: commit, mark: commit)
        try write(RawSpan(_elements: bytes.span), at: commit & 1, MetaPage.contents.lowerBound)
    }

    /// Takes the note away if a commit that failed left it, and nothing of that commit is in the header.
    package func forgetPending(_ commit: UInt64) {
        guard isPending(commit), page(commit & 1).number(at: MetaPage.numberOffset) != commit,
            RenumberedCommit(self, newest: commit - 1) == nil
        else { return }
        try? notePending(commit, false)
    }

    /// The bytes with which a commit's page of the header shows the same as the other one, with its note, from
    /// ``MetaPage/contents`` on.
    ///
    /// It is written at once and lies inside of 512 bytes: a disk has all of it or nothing.
    func fieldsOfOther(_ commit: UInt64, number: UInt64, mark: UInt64) -> [UInt8] {
        let (own, other) = (page(commit & 1), page(~commit & 1))
        let left = other.number(at: MetaPage.numberOffset).flatMap { note(of: $0) }
        var bytes = MetaPage.contents.map { other.byte(at: $0) }
        append([number, mark], to: &bytes)
        for offset in MetaPage.journal { bytes.append(own.byte(at: offset)) }
        append([UInt64(left ?? 0), left == nil ? 0 : number], to: &bytes)
        return bytes
    }

    private func append(_ numbers: [UInt64], to bytes: inout [UInt8]) {
        for number in numbers { unsafe withUnsafeBytes(of: number) { unsafe bytes.append(contentsOf: $0) } }
    }

    @inline(__always)
    private func mark(of commit: UInt64) -> UInt64? { page(commit & 1).number(at: MetaPage.mark.lowerBound) }
}
