/// The writer's side of the file `wake`: eight bytes that tell waiting processes how far the log reaches.
///
/// LMDB's own files change before a commit can be read, so that watching them wakes too early; this one changes
/// after it. It is a hint and nothing else: a write that fails is forgotten, because whoever waits looks at the log
/// now and then in any case.
package final class WakeFile: Sendable {
    private let directory: String
    private let file = Monitor<FileDescriptor?>(nil)

    /// Opens or creates the file, if that is possible.
    package init(directory: String) {
        self.directory = directory
        file.withLock { reopen(&$0) }
    }

    deinit {
        file.withLock { $0?.close() }
    }

    /// How far the log reached when a commit was announced last; nil where that is not known.
    package static func announced(in directory: String) -> UInt64? {
        guard let file = try? FileDescriptor(opening: path(in: directory), .reading) else { return nil }
        defer { file.close() }
        guard let bytes = try? file.read(8, at: 0), bytes.count == 8 else { return nil }
        return bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }

    static func path(in directory: String) -> String { directory + "/wake" }

    /// Says that the log reaches to `head`, after the commit; some microseconds.
    package func announce(_ head: UInt64) {
        file.withLock { file in
            // It was never there, or somebody deleted or replaced it.
            if (file?.nameCount ?? 0) == 0 { reopen(&file) }
            unsafe withUnsafeBytes(of: head.littleEndian) { bytes in unsafe try? file?.write(bytes.bytes, at: 0) }
        }
    }

    private func reopen(_ file: inout FileDescriptor?) {
        file?.close()
        let owner = try? FileStatus(path: directory)
        file = try? FileDescriptor(openingOrCreating: Self.path(in: directory), owner: owner)
    }
}
