import TraylogPlatform

/// The newest commit of a file, if it counts only with its seal.
package struct PendingCommit {
    private let pages: PageMap
    private let commit: UInt64
    /// The pages of its seal; nil if that does not fit.
    private let sealed: [UInt64]?

    /// Finds out whether it counts, before LMDB opens the file, and takes it back if not.
    ///
    /// Nobody was answered from a commit whose seal does not fit. While others have the file open, only a writer does this: to
    /// readers the commit may be under way. The caller holds the open lock.
    ///
    /// - Parameters:
    ///   - path: the data file.
    ///   - readers: the lock file beside it.
    ///   - isWriter: whether the caller is the one who may write the store.
    /// - Returns: the commit, if it counts and that could not be noted, because nobody may write the file.
    /// - Throws: ``LMDBError`` when a writer cannot write the file.
    package static func settle(_ path: String, readers: ReaderTable, isWriter: Bool) throws(LMDBError) -> UInt64? {
        // What else is wrong with a file is for others to find.
        guard let file = try? FileDescriptor(opening: path, .reading) else { return nil }
        defer { file.close() }
        guard let header = try? DataFileHeader.read(file), header.isPending, let size = file.size,
            isWriter || !readers.isOpenElsewhere
        else { return nil }
        let pages = try PageMap(file, path: path, byteCount: Int(size), pageSize: header.pageSize, tableNames: [])
        let pending = PendingCommit(pages, header.transaction)
        if isWriter {
            let file = try LMDBError.attempt("open", path, FileDescriptor(opening: path, .readingAndWriting))
            defer { file.close() }
            try pending.settle(file)
            return nil
        }
        // Where a reader cannot write, it shows the commit before, and leaves the rest to the next writer.
        if let file = try? FileDescriptor(opening: path, .readingAndWriting) {
            defer { file.close() }
            if (try? pending.settle(file)) != nil { return nil }
        }
        return pending.sealed != nil && (try? pending.sync(file)) != nil ? header.transaction : nil
    }

    private init(_ pages: PageMap, _ commit: UInt64) {
        self.pages = pages
        self.commit = commit
        sealed = Seal.pages(of: commit, in: pages)
    }

    private func settle(_ file: FileDescriptor) throws(LMDBError) {
        if let sealed {
            // A process that died may have left it to the system, which tells only once of a page that it could not write.
            for number in sealed + [commit & 1] {
                let page = pages.page(number)
                try write((0..<pages.pageSize).map { page.byte(at: $0) }, at: number, 0, file)
            }
            try sync(file)
            try write(Array(repeating: 0, count: 8), at: commit & 1, Seal.markOffset, file)
        } else {
            let fields = pages.fieldsOfOther(commit, number: commit, mark: commit)
            try write(fields, at: commit & 1, MetaPage.contents.lowerBound, file)
            try sync(file)
        }
    }

    private func write(_ bytes: [UInt8], at number: UInt64, _ offset: Int, _ file: FileDescriptor) throws(LMDBError) {
        let place = Int64(number) * Int64(pages.pageSize) + Int64(offset)
        let bytes = RawSpan(_elements: bytes.span)
        try LMDBError.attempt("write", pages.path, file: file, file.write(bytes, at: place))
    }

    private func sync(_ file: FileDescriptor) throws(LMDBError) {
        try LMDBError.attempt("sync", pages.path, file: file, file.syncData())
    }
}
