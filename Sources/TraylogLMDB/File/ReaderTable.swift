import TraylogPlatform

/// LMDB's lock file as it is, looked at before LMDB maps it.
///
/// LMDB makes a lock file anew when nobody has it open. When somebody has, it believes what is there: how long the file
/// is, and how many slots are used. A file that lost its end, or a number that changed, would lead it outside of its map.
///
/// | offset | what |
/// |---|---|
/// | 16 | slots that were used, u32 |
/// | 128 | slots of readers, 64 bytes each |
package struct ReaderTable {
    private static let countOffset = 16
    private static let slotsOffset = 128
    private static let slotBytes = 64

    private let path: String

    package init(path: String) {
        self.path = path
    }

    /// Whether some process has the store open.
    ///
    /// Asked of the lock that LMDB holds for so long. The caller knows that this process does not have the store open.
    package var isOpenElsewhere: Bool { (try? withFile { $0.firstByteIsLockedElsewhere }) ?? false }

    /// - Throws: ``LMDBError/Code/corrupted``. What else is wrong with the file is for LMDB to find.
    package func check() throws(LMDBError) {
        let isSound = (try? withFile { !$0.firstByteIsLockedElsewhere || hasItsSlots($0) }) ?? true
        guard isSound else {
            throw LMDBError(
                .corrupted, operation: "open", path: path,
                message:
                    "The lock file is damaged while other processes have the store open: end them all, and open the "
                    + "store again.")
        }
    }

    private func hasItsSlots(_ file: FileDescriptor) -> Bool {
        guard let size = file.size, let header = try? file.read(Self.slotsOffset, at: 0),
            header.count == Self.slotsOffset
        else { return false }
        let slots = (Int(size) - Self.slotsOffset) / Self.slotBytes
        let used = unsafe header.span.bytes.unsafeLoadUnaligned(fromByteOffset: Self.countOffset, as: UInt32.self)
        return slots > 0 && used <= slots
    }

    private func withFile<R>(_ body: (FileDescriptor) -> R) throws(SystemError) -> R {
        let file = try FileDescriptor(opening: path, .reading)
        defer { file.close() }
        return body(file)
    }
}
