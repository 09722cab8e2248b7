import TraylogPages
import TraylogPlatform

/// A file of our own beside LMDB's, for locks that survive the closing of other descriptors and that the kernel drops
/// when their process ends in any way.
struct LockFile: Sendable {
    private let file: FileDescriptor
    let path: String

    /// Opens or creates it with mode 0600 for the owner of the store.
    ///
    /// - Parameter owner: who gets a file that root creates, so that root's visit does not lock out the application.
    init(path: String, owner: FileStatus?) throws(SystemError) {
        file = try FileDescriptor(openingOrCreating: path, owner: owner)
        self.path = path
    }

    /// Takes the lock; false when another holder has it.
    func tryLock() -> Bool {
        (try? file.lock()) != nil
    }

    func unlock() {
        file.unlock()
    }

    func close() {
        file.close()
    }

    /// The first 512 bytes as text.
    func contents() -> String {
        String(decoding: (try? file.read(512, at: 0)) ?? [], as: UTF8.self)
    }

    /// Replaces the whole content; after a power cut in between, the end of the old one may follow the new one.
    func replaceContents(_ text: String) throws(LMDBError) {
        let bytes = Array(text.utf8)
        let operation = "write a lock file"
        try LMDBError.attempt(operation, path, file: file, file.write(RawSpan(_elements: bytes.span), at: 0))
        try LMDBError.attempt(operation, path, file: file, file.setSize(Int64(bytes.count)))
    }
}
