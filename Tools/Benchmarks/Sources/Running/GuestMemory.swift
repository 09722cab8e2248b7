import Foundation

/// Memory that a virtual machine has to get from its host before anybody can use it.
///
/// A guest may give free memory back within seconds, and wait some 10 µs for each page that it needs again: for files as for
/// processes, and the more of them a program writes in a second, the more of its time that is. A machine that has its
/// memory does not know this wait.
enum GuestMemory {
    /// The most that nearly all runs use, for their process and their files' pages.
    private static let bytes = 2 << 30

    /// Uses memory for a moment, so that the next program finds it free, and there.
    ///
    /// Memory that the machine does not have left is not asked for.
    static func touch() {
        let count = min(bytes, free / 2)
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE
        guard count > 0, let memory = unsafe mmap(nil, count, PROT_READ | PROT_WRITE, flags, -1, 0),
            unsafe memory != MAP_FAILED
        else { return }
        unsafe _ = munmap(memory, count)
    }

    /// Reads files to their ends, so that what the system dropped of them while others ran is in memory again.
    ///
    /// - Parameter prefix: of their paths.
    static func readFiles(_ prefix: String) {
        let parent = URL(filePath: prefix).deletingLastPathComponent()
        guard let files = FileManager.default.enumerator(at: parent, includingPropertiesForKeys: nil) else { return }
        for case let file as URL in files where file.path.hasPrefix(prefix) && !file.hasDirectoryPath {
            guard let handle = try? FileHandle(forReadingFrom: file) else { continue }
            while let part = try? handle.read(upToCount: 1 << 20), !part.isEmpty {}
            try? handle.close()
        }
    }

    private static var free: Int { sysconf(Int32(_SC_AVPHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE)) }
}
