import CTraylogSystem
import TraylogCLibrary

/// Runs a command that an operator gave, as the shell understands it.
package enum ShellCommand {
    /// Between two looks at whether it has ended.
    private static let pauseMilliseconds: UInt32 = 10
    /// What a command that is told to end gets for that.
    private static let graceNanoseconds: Int64 = 2_000_000_000

    /// Runs `/bin/sh -c COMMAND` and waits for its end.
    ///
    /// It reads nothing, and what it prints goes to standard error. It is ended, with all that it started, when it takes too long.
    ///
    /// - Parameters:
    ///   - seconds: that it may take.
    ///   - isOver: asked now and then whether it has to end before.
    /// - Returns: why it failed; nil for exit status 0.
    package static func run(_ command: String, seconds: Int64, isOver: () -> Bool = { false }) -> String? {
        guard !command.utf8.contains(0) else { return "it has a NUL character" }
        let process: pid_t
        do throws(SystemError) {
            process = try start(command)
        } catch {
            return "/bin/sh does not start: \(error)"
        }
        let (limit, _) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let start = SystemClock.monotonicNanoseconds()
        var told: Int64?
        while true {
            var status: Int32 = 0
            let ended = unsafe waitpid(process, &status, WNOHANG)
            if ended == process {
                if told != nil { return "it took longer than \(seconds) seconds, and was ended" }
                // As WIFEXITED and the like do.
                if status & 0x7F != 0 { return "signal \(status & 0x7F) ended it" }
                let code = (status >> 8) & 0xFF
                return code == 0 ? nil : "exit status \(code)"
            }
            if ended < 0, errno != EINTR { return "its end cannot be seen: \(SystemError.last)" }
            let now = SystemClock.monotonicNanoseconds()
            if let told {
                if now - told > graceNanoseconds { kill(-process, SIGKILL) }
            } else if now - start > limit || isOver() {
                told = now
                kill(-process, SIGTERM)
            }
            OSThread.sleep(milliseconds: pauseMilliseconds)
        }
    }

    private static func start(_ command: String) throws(SystemError) -> pid_t {
        let texts = ["/bin/sh", "-c", command]
        let words = unsafe texts.map { unsafe strdup($0) } + [nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, 2, 1)
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // A group of its own, so that all that it starts can be ended; and no signal that this process blocks.
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
        var process = pid_t()
        let code = unsafe posix_spawn(&process, "/bin/sh", &actions, &attributes, words, traylog_environment())
        guard code == 0 else { throw SystemError(number: code) }
        return process
    }
}
