import Foundation

/// The length of the random tests, set by `TRAYLOG_TESTS`.
package enum TestLength: String {
    /// During work: each kind of random history at least once.
    case quick
    /// Before a change lands.
    case full
    /// For an otherwise idle machine.
    case nightly

    /// Quick if the variable is not set, so that `swift test` is quick, too.
    package static let current: TestLength = {
        guard let name = ProcessInfo.processInfo.environment["TRAYLOG_TESTS"] else { return .quick }
        guard let length = TestLength(rawValue: name) else {
            preconditionFailure("TRAYLOG_TESTS must be quick, full or nightly, not \(name).")
        }
        return length
    }()
}

package let isLong = TestLength.current == .nightly

/// The size of a test at the present length; quick tests are as large as full ones by default.
package func sized<Size>(_ full: Size, quick: Size? = nil, nightly: Size) -> Size {
    switch TestLength.current {
    case .quick: quick ?? full
    case .full: full
    case .nightly: nightly
    }
}

/// Half as much in quick tests.
package func halved(_ full: Int) -> Int { sized(full, quick: full / 2, nightly: full) }

/// Seeds, as many as ``sized(_:quick:nightly:)`` says.
package func seeds(_ full: UInt64, quick: UInt64? = nil, nightly: UInt64) -> Range<UInt64> {
    0..<sized(full, quick: quick, nightly: nightly)
}
