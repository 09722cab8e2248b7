import TraylogCLibrary
import Synchronization

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

    /// Runs a function when the process exits in the normal way, also in children of `fork` that do.
    package static func atExit(_ body: @escaping @convention(c) () -> Void) { atexit(body) }
}

/// Counts the forks that lead to this process, so that a child notices what it inherited.
///
/// LMDB's locks, reader slots and maps belong to the process that opened them. Asking `getpid` at each transaction
/// costs 90 ns; comparing a counter costs one.
@usableFromInline package enum ForkGuard {
    @usableFromInline static let counter = Atomic<UInt32>(0)

    private static let installation: Int32 = pthread_atfork(
        nil, nil, { ForkGuard.counter.wrappingAdd(1, ordering: .relaxed) })

    /// The number of forks between the first process that called ``install()`` and this one.
    @inlinable package static var forkCount: UInt32 {
        counter.load(ordering: .relaxed)
    }

    /// Starts counting; later calls do nothing.
    ///
    /// - Throws: why the system does not tell of forks.
    package static func install() throws(SystemError) {
        guard installation == 0 else { throw SystemError(number: installation) }
    }
}
