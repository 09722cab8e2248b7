import Synchronization
import TraylogPlatform

extension Environment {
    /// Makes sure that the store is where it was opened.
    ///
    /// Files that lost their names can be read and written as before, and are gone with the process. So the writer looks
    /// before each transaction: three calls of the system, about two microseconds.
    ///
    /// - Throws: ``LMDBError/Code/notFound`` when the directory or the data file was removed or replaced.
    package func checkPlace() throws(LMDBError) {
        guard let identity else { return }
        var isThere = true
        do throws(SystemError) {
            isThere = try FileStatus(path: directory).identity == identity
            _ = try FileStatus(path: currentPath)
        } catch {
            // Other errors say nothing about the place: the rights of a parent directory may have changed.
            if error == .noEntry || error == .notDirectory { isThere = false }
        }
        guard isThere else { throw lostPlace() }
        // A reader's file may have been replaced a moment ago, which it finds out by itself.
        guard access == .readWrite, let file, file.dataFile.nameCount == 0, file === self.file else { return }
        throw lostPlace()
    }

    /// The same at most once a second, for reads.
    @usableFromInline
    func checkPlaceNowAndThen() throws(LMDBError) {
        let now = SystemClock.monotonicNanoseconds()
        guard now - placeCheckedAt.load(ordering: .relaxed) >= 1_000_000_000 else { return }
        try checkPlace()
        placeCheckedAt.store(now, ordering: .relaxed)
    }

    private func lostPlace() -> LMDBError {
        LMDBError(
            .notFound, operation: "find", path: directory,
            message:
                "The store was removed, moved or replaced while it was open, and what is written now would be lost: close "
                + "it, and open it where it is, or restore a backup.")
    }
}
