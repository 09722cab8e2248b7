import Foundation

/// `fork`, which Swift hides; a child must leave by `_exit`.
func forkProcess() -> pid_t {
    typealias Fork = @convention(c) () -> pid_t
    guard let symbol = unsafe dlsym(nil, "fork") else { preconditionFailure("There is no fork.") }
    return unsafe unsafeBitCast(symbol, to: Fork.self)()
}

/// The exit status of a child; nil when a signal ended it.
func exitStatus(of child: pid_t) -> Int32? {
    var status: Int32 = 0
    unsafe waitpid(child, &status, 0)
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : nil
}
