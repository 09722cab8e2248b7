import CTraylogLMDB
import TraylogPages
import TraylogPlatform

extension Environment {
    /// Opens the store in `directory`.
    ///
    /// A read-only opening of a missing store creates nothing. The data file is examined before it is mapped. About
    /// a millisecond, plus an fsync when the file is created.
    ///
    /// - Parameters:
    ///   - databases: the names of all databases that will be used; with ``Access/readWrite`` missing ones are created.
    /// - Throws: ``LMDBError``; ``LMDBError/Code/writerLocked`` and ``LMDBError/Code/alreadyOpen`` say who is in the
    ///   way, ``LMDBError/Code/notFound`` that there is no store.
    package static func open(
        directory: String, access: Access, databases: [String], configuration: Configuration = .init()
    ) throws(LMDBError) -> Environment {
        ForkGuard.install()
        try checkLibrary()
        let location = StoreLocation(directory: directory)
        try location.prepare(access: access, configuration: configuration)
        let claim = try location.claim()
        do throws(LMDBError) {
            let opened = try openClaimed(
                location, claim: claim, access: access, databases: databases, configuration: configuration)
            opened.file.reap()
            return Environment(
                opened, directory: directory, access: access, databases: databases, configuration: configuration)
        } catch {
            claim.release()
            throw error
        }
    }

    /// - Throws: ``LMDBError/Code/unsupportedLibrary`` unless liblmdb is of the 0.9 series.
    static func checkLibrary() throws(LMDBError) {
        var major: Int32 = 0
        var minor: Int32 = 0
        var patch: Int32 = 0
        unsafe _ = mdb_version(&major, &minor, &patch)
        guard major == 0, minor == 9 else {
            throw LMDBError(
                .unsupportedLibrary, operation: "open",
                message:
                    "liblmdb \(major).\(minor).\(patch) is installed, whose files 0.9 cannot read: install liblmdb "
                    + "0.9.")
        }
    }

    private static func openClaimed(
        _ location: StoreLocation, claim: EnvironmentRegistry.Claim, access: Access, databases: [String],
        configuration: Configuration
    ) throws(LMDBError) -> OpenedEnvironment {
        let owner = try? FileStatus(path: location.dataPath)
        let lease = access == .readWrite ? try WriterLease(directory: location.directory, owner: owner) : nil
        do throws(LMDBError) {
            let openLock = try OpenLock(directory: location.directory, access: access, owner: owner)
            do throws(LMDBError) {
                try openLock.acquire()
                defer { openLock.release() }
                if lease != nil { try RewriteDirectory(directory: location.directory).settle() }
                let creates = try location.createDataFile(lease: lease, configuration: configuration)
                if !creates {
                    try RenumberedCommit.settle(
                        location.dataPath, readers: ReaderTable(path: location.lockPath), isWriter: lease != nil)
                }
                let mapped = try MappedStore(
                    location, access: access, databases: databases, configuration: configuration)
                let file = try own(mapped, location)
                do throws(LMDBError) {
                    if creates { try location.makeCreationDurable() }
                    try lease?.sign(creating: false)
                } catch {
                    file.close(nil)
                    throw error
                }
                return OpenedEnvironment(file: file, openLock: openLock, lease: lease, claim: claim)
            } catch {
                openLock.close()
                throw error
            }
        } catch {
            lease?.release()
            throw error
        }
    }
}
