import Glibc

/// LMDB's lock file as it is, looked at before LMDB maps it.
///
/// LMDB makes a lock file anew when nobody has it open. When somebody has, it believes what is there: how long the file
/// is, and how many slots are used. A file that lost its end, or a number that changed, would lead it outside of its map.
///
/// | offset | what |
/// |---|---|
/// | 16 | slots that were used, u32 |
/// | 128 | slots of readers, 64 bytes each |
struct ReaderTable {
    private static let countOffset = 16
    private static let slotsOffset = 128
    private static let slotBytes = 64

    let path: String

    /// Whether some process has the store open.
    ///
    /// Asked of the lock that LMDB holds for so long. The caller knows that this process does not have the store open.
    var isOpenElsewhere: Bool { (try? withFile { isLocked($0) }) ?? false }

    /// - Throws: ``LMDBError/Code/corrupted``. What else is wrong with the file is for LMDB to find.
    func check() throws(LMDBError) {
        let isSound = (try? withFile { !isLocked($0) || hasItsSlots($0) }) ?? true
        guard isSound else {
            throw LMDBError(
                .corrupted, operation: "open", path: path,
                message:
                    "The lock file is damaged while other processes have the store open: end them all, and open the "
                    + "store again.")
        }
    }

    private func hasItsSlots(_ descriptor: Int32) -> Bool {
        guard let size = FileIdentity.status(descriptor: descriptor)?.size,
            let header = FileBytes.read(descriptor: descriptor, at: 0, count: Self.slotsOffset)
        else { return false }
        let slots = (Int(size) - Self.slotsOffset) / Self.slotBytes
        return slots > 0 && header.integer(at: Self.countOffset, as: UInt32.self) <= slots
    }

    private func isLocked(_ descriptor: Int32) -> Bool {
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_len = 1
        return unsafe fcntl(descriptor, F_GETLK, &lock) != 0 || lock.l_type != Int16(F_UNLCK)
    }

    private func withFile<R>(_ body: (Int32) -> R) throws(LMDBError) -> R {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(errno, operation: "open", path: path) }
        defer { close(descriptor) }
        return body(descriptor)
    }
}
