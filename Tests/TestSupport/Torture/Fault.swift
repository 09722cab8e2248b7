import Foundation
import Traylog
import TraylogDomain

/// How an operation on a file fails.
package struct Fault: Codable, Hashable, Sendable {
    package enum SystemError: String, Codable, Sendable {
        case inputOutput, noSpace

        var number: Int32 {
            switch self {
            case .inputOutput: EIO
            case .noSpace: ENOSPC
            }
        }
    }

    /// The effect on the operation itself, as in `faults.c`.
    package enum Effect: Int, Codable, Sendable {
        case nothing, whole, half
    }

    package var error: SystemError
    package var effect: Effect
    /// Whether all later operations fail, too, until the fault is lifted.
    package var lasts: Bool

    /// The disk faults: it fails once, fails from then on, or is full; each with the operation done or not done.
    package static let all = [
        Fault(error: .inputOutput, effect: .nothing, lasts: false),
        Fault(error: .inputOutput, effect: .whole, lasts: false),
        Fault(error: .inputOutput, effect: .whole, lasts: true),
        Fault(error: .inputOutput, effect: .half, lasts: true),
        Fault(error: .noSpace, effect: .nothing, lasts: false),
        Fault(error: .noSpace, effect: .nothing, lasts: true),
        Fault(error: .noSpace, effect: .half, lasts: true),
    ]

    package static var lasting: [Fault] { all.filter(\.lasts) }

    package init(error: SystemError, effect: Effect, lasts: Bool) {
        (self.error, self.effect, self.lasts) = (error, effect, lasts)
    }

    /// The error that a caller must get.
    package var code: StoreFailure.Code {
        switch error {
        case .inputOutput: .inputOutput
        case .noSpace: .diskFull
        }
    }

    package var words: String {
        switch error {
        case .inputOutput: "input/output error"
        case .noSpace: "disk full"
        }
    }

    /// The value for the environment variable of `faults.c`.
    package func setting(_ directory: String, at number: Int) -> String {
        "\(directory) \(number) \(self.error.number) \(effect.rawValue) \(lasts ? 1 : 0)"
    }
}
