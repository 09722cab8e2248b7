import Foundation
import Traylog

/// An error that ends the program with a status of its own.
package protocol ExitStatusError: Error {
    var exitStatus: Int32 { get }
}

/// How the server's process ends.
package enum ServerProcess {
    /// Ends the process at once, with what was printed.
    ///
    /// It waits for nobody who reads that. On the usual way out the brokers' library takes its locks apart, and its threads, which may still use them, abort.
    ///
    /// - Parameter last: goes to standard error.
    package static func end(_ status: Int32, _ last: String = "") -> Never {
        ServiceLogHandler.flush(last)
        fflush(nil)
        _exit(status)
    }

    /// The exit status of an error, as `traylog` has it; nil for one that is neither the server's nor the store's.
    package static func status(of error: any Error) -> Int32? {
        switch error {
        case let error as any ExitStatusError: error.exitStatus
        case is ConfigurationError: 64
        case TraylogError.refused: 65
        case TraylogError.failed(let failure):
            switch failure.code {
            case .notFound: 66
            case .openForWriting, .alreadyOpen, .busy: 69
            default: 74
            }
        default: nil
        }
    }
}
