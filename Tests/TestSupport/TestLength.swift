import Foundation

/// The length of the random tests, set by `TRAYLOG_TESTS`.
package enum TestLength: String {
    /// Each kind of random history at least once.
    case quick
    /// For an otherwise idle machine.
    case nightly

    /// Quick if the variable is not set, so that `swift test` is quick, too.
    package static let current: TestLength = {
        guard let name = ProcessInfo.processInfo.environment["TRAYLOG_TESTS"] else { return .quick }
        guard let length = TestLength(rawValue: name) else {
            preconditionFailure("TRAYLOG_TESTS must be quick or nightly, not \(name).")
        }
        return length
    }()
}

package let isLong = TestLength.current == .nightly

/// The size of a test at the present length.
package func sized<Size>(_ quick: Size, nightly: Size) -> Size { isLong ? nightly : quick }

/// Half as much in quick tests.
package func halved(_ nightly: Int) -> Int { sized(nightly / 2, nightly: nightly) }

/// Seeds, as many as ``sized(_:nightly:)`` says.
package func seeds(_ quick: UInt64, nightly: UInt64) -> Range<UInt64> { 0..<sized(quick, nightly: nightly) }
