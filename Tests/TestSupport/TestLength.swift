import Foundation

/// `TRAYLOG_LONG_TESTS=1` asks for many more seeds and rounds.
package let isLong = ProcessInfo.processInfo.environment["TRAYLOG_LONG_TESTS"] == "1"

package func seeds(_ count: UInt64, long: UInt64) -> Range<UInt64> { 0..<(isLong ? long : count) }
