import TraylogPlatform

extension Environment {
    /// The result of copying a whole store.
    package struct Copy: Hashable, Sendable {
        package var fileBytes: Int
        /// The greatest key of the table that was asked about; nil when it is empty.
        package var lastKey: [UInt8]?
    }

    /// Makes a directory a store with the last commit, without free pages, safe against power loss.
    ///
    /// Writers go on meanwhile, in this process and in others. The directory holds no store until all of it is there;
    /// killed before, it holds a file that the next copy to it takes away. A copy that fails leaves nothing.
    ///
    /// - Parameters:
    ///   - directory: missing or empty, outside of this store.
    ///   - table: the one of which the copy's last key is wanted.
    ///   - progress: as for ``compactCopy(toPath:replacing:progress:inspect:)``.
    /// - Throws: ``LMDBError/Code/unusableTarget``, and as ``compactCopy(to:)``.
    package func copyStore(
        to directory: String, table: String, progress: ((_ done: Int, _ total: Int) -> Bool)? = nil
    ) throws(LMDBError) -> Copy {
        try requireLocksToCopy()
        let target = try CopyTarget.prepare(directory, outside: self.directory)
        var copy = Copy(fileBytes: 0, lastKey: nil)
        do throws(LMDBError) {
            try compactCopy(toPath: target.dataPath, progress: progress) { (path) throws(LMDBError) in
                copy.fileBytes = Int((try? FileStatus(path: path))?.size ?? 0)
                copy.lastKey = try CopiedFile.lastKey(of: table, path: path)
            }
            try target.sync()
        } catch {
            target.remove()
            throw error
        }
        return copy
    }
}
