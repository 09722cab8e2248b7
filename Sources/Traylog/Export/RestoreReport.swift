import TraylogDomain

/// What a restore has made.
package struct RestoreReport: Hashable, Sendable {
    package var events: UInt64
    package var head: Seq
}
