import Glibc

/// The writer's side of the file `wake`: eight bytes that tell waiting processes how far the log reaches.
///
/// LMDB's own files change before a commit can be read, so that watching them wakes too early; this one changes
/// after it. It is a hint and nothing else: a write that fails is forgotten, because whoever waits looks at the log
/// now and then in any case. Used by the writer's thread alone.
package final class WakeFile {
    private let directory: String
    private var descriptor: Int32 = -1

    /// Opens or creates the file, if that is possible.
    package init(directory: String) {
        self.directory = directory
        reopen()
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    static func path(in directory: String) -> String { directory + "/wake" }

    /// Says that the log reaches to `head`, after the commit; some microseconds.
    package func announce(_ head: UInt64) {
        if isGone { reopen() }
        var bytes = head.littleEndian
        _ = unsafe pwrite(descriptor, &bytes, MemoryLayout<UInt64>.size, 0)
    }

    /// The file was never there, or somebody deleted or replaced it.
    private var isGone: Bool {
        var status = stat()
        return unsafe fstat(descriptor, &status) != 0 || status.st_nlink == 0
    }

    private func reopen() {
        if descriptor >= 0 { close(descriptor) }
        let owner = FileIdentity.status(path: directory)
        descriptor = (try? LockFile.open(Self.path(in: directory), owner: owner)) ?? -1
    }
}
