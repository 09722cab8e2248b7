import Foundation

/// `fork`, which Swift hides; a child must leave by `_exit`.
package func forkProcess() -> pid_t {
    typealias Fork = @convention(c) () -> pid_t
    guard let symbol = unsafe dlsym(nil, "fork") else { preconditionFailure("There is no fork.") }
    return unsafe unsafeBitCast(symbol, to: Fork.self)()
}

/// The exit status of a child; nil when a signal ended it.
package func exitStatus(of child: pid_t) -> Int32? {
    var status: Int32 = 0
    unsafe waitpid(child, &status, 0)
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : nil
}

/// Lets this process make files up to `bytes` long; longer ones give an error instead of a signal.
package func limitFileSize(bytes: Int) {
    _ = signal(SIGXFSZ, SIG_IGN)
    var limit = rlimit(rlim_cur: rlim_t(bytes), rlim_max: rlim_t(bytes))
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
}
