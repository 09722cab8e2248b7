@_spi(Operations) import Traylog
import TraylogCLibrary

/// The last resort when a page of the data file cannot be read any more: a bad disk, or a file cut short meanwhile.
///
/// The system then sends a signal in the middle of a read, and LMDB may end the process by itself. In their place come a
/// line on standard error and the exit status of a damaged store.
enum FatalSignal {
    // The message of the handler, made in advance because the handler must not allocate.
    // nonisolated(unsafe): set once, before the handlers are.
    private nonisolated(unsafe) static var line: UnsafeMutablePointer<UInt8>?
    // nonisolated(unsafe): as above.
    private nonisolated(unsafe) static var lineBytes = 0

    /// Installs the handlers for work on the store in `directory`.
    static func handle(store directory: String) {
        let text = """
            traylog: the data file of \(directory) could not be read to its end, or is damaged: check the disk, run \
            `traylog verify`, and restore a backup

            """
        let words = Array(VisibleText(String(text.dropLast())).text.utf8) + [UInt8(ascii: "\n")]
        let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: words.count)
        for (index, byte) in words.enumerated() { unsafe bytes[index] = byte }
        unsafe line = bytes
        unsafe lineBytes = words.count
        for number in [SIGBUS, SIGSEGV, SIGABRT] {
            signal(number) { _ in
                if let line = unsafe FatalSignal.line {
                    unsafe _ = write(STDERR_FILENO, line, FatalSignal.lineBytes)
                }
                _exit(ExitStatus.inputOutput.rawValue)
            }
        }
    }
}
