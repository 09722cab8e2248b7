import Glibc

/// The number of this process, and whether others live.
package enum CurrentProcess {
    package static var id: Int32 { getpid() }
    package static var user: UInt32 { geteuid() }
    package static var isRoot: Bool { geteuid() == 0 }

    /// The name of the machine, at most 255 bytes.
    package static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        unsafe gethostname(&name, name.count - 1)
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The open files of this process.
    package static var openFiles: [FileDescriptor] {
        let names = (try? Files.names(in: "/proc/self/fd")) ?? []
        return names.compactMap { Int32($0).map(FileDescriptor.init(number:)) }
    }

    /// Whether there is a process of this number, also one of another user.
    package static func isRunning(_ process: Int32) -> Bool {
        kill(process, 0) == 0 || errno == EPERM
    }

    /// Threads for work that can be done on two: as many as are wanted, or as there are processors; one or two.
    package static func threads(_ wanted: Int?) -> Int {
        min(max(wanted ?? sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 2)
    }
}
