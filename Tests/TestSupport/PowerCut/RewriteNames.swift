import Foundation

/// The names that change when a data file takes the place of another: of what no sync of a directory covers, each
/// change by itself may be on disk or not.
struct RewriteNames: Sendable {
    enum Lock: Sendable {
        case absent, created, kept, renamed
    }

    /// The file that is being filled.
    var rewrite = DiskFile()
    /// The name of the lock file beside it.
    var lock = Lock.absent
    /// The data file of before, as long as it may still have its name.
    private var replaced: DiskFile?

    /// The rewrite becomes the data file.
    mutating func rename(_ data: inout DiskFile) {
        replaced = data
        data = rewrite
        rewrite = DiskFile()
    }

    mutating func keepCreated() { if lock == .created { lock = .kept } }

    mutating func keepRenamed() {
        replaced = nil
        if lock == .renamed { lock = .absent }
    }

    /// Writes what a power cut may leave of the data file and the directory of the rewrite.
    func cut(_ data: DiskFile, _ tear: Tear, into directory: String, _ random: inout SeededRandom) throws {
        var (store, beside) = (data, rewrite)
        if let replaced, random.chance(50) { (store, beside) = (replaced, data) }
        try store.cut(tear, &random)?.write(to: URL(filePath: directory + "/data.mdb"))
        let hasLock = lock == .kept || (lock != .absent && random.chance(50))
        guard beside.isThere || hasLock || random.chance(10) else { return }
        let folder = directory + "/rewrite"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try beside.cut(tear, &random)?.write(to: URL(filePath: folder + "/data.mdb"))
        if hasLock { try Data(count: random.pick([0, 65_664])).write(to: URL(filePath: folder + "/lock.mdb")) }
    }
}
