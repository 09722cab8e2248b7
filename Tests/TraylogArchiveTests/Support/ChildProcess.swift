import Foundation
import TestSupport

/// A process that begins as a copy of this one, for what would end this one.
struct ChildProcess {
    let id: pid_t

    /// Runs `body` in a child, which ends with its answer as exit status.
    static func start(_ body: () -> Int32) -> ChildProcess {
        let id = forkProcess()
        // Not by `exit`, which would run what belongs to the parent.
        if id == 0 { _exit(body()) }
        return ChildProcess(id: id)
    }

    func kill() { _ = Foundation.kill(id, SIGKILL) }

    /// Waits for the end; nil when a signal brought it.
    func exitStatus() -> Int32? { TestSupport.exitStatus(of: id) }
}
