import Foundation

/// A process that begins as a copy of this one, for what would end this one.
struct ChildProcess {
    let id: pid_t

    /// Runs `body` in a child, which ends with its answer as exit status.
    static func start(_ body: () -> Int32) -> ChildProcess {
        typealias Fork = @convention(c) () -> pid_t
        guard let symbol = unsafe dlsym(nil, "fork") else { preconditionFailure("There is no fork.") }
        let id = unsafe unsafeBitCast(symbol, to: Fork.self)()
        // Not by `exit`, which would run what belongs to the parent.
        if id == 0 { _exit(body()) }
        return ChildProcess(id: id)
    }

    /// Lets this process make files up to `bytes` long; longer ones give an error instead of a signal.
    static func limitFileSize(bytes: Int) {
        _ = signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit(rlim_cur: rlim_t(bytes), rlim_max: rlim_t(bytes))
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    }

    func kill() { _ = Foundation.kill(id, SIGKILL) }

    /// Waits for the end; nil when a signal brought it.
    func exitStatus() -> Int32? {
        var status: Int32 = 0
        unsafe waitpid(id, &status, 0)
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : nil
    }
}
