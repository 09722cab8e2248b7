import Foundation

/// A bound on the memory of processes, the pages of their files included.
struct ControlGroup {
    /// Whose id is written here, is in the group.
    let processes: String
    private let path: String

    init(memoryBytes: Int) throws {
        let (parent, bound) =
            FileManager.default.fileExists(atPath: "/sys/fs/cgroup/cgroup.controllers")
            ? ("/sys/fs/cgroup", "memory.max") : ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        path = parent + "/traylog-bench-\(ProcessInfo.processInfo.processIdentifier)"
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path + "/" + bound))
            try file.write(contentsOf: Data("\(memoryBytes)".utf8))
            try file.close()
        } catch {
            throw BenchError("--memory-limit: this user may not make a control group at \(path): \(error)")
        }
        processes = path + "/cgroup.procs"
    }

    func remove() { _ = unsafe rmdir(path) }
}
