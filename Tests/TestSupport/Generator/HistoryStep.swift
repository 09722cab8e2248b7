import TraylogDomain

/// The next step of a history.
package enum HistoryStep: Hashable, Sendable {
    case command(Command)
    case tick(Timestamp)
}

extension HistoryStep: CustomStringConvertible {
    package var description: String {
        switch self {
        case .command(let command): String(describing: command)
        case .tick(let time): "tick \(time.milliseconds)"
        }
    }
}
