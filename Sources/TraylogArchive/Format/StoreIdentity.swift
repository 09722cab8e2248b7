import TraylogLog

/// Tells archives of one store from those of another; 16 bytes that the store gives.
package struct StoreIdentity: Hashable, Sendable {
    package static let byteCount = 16
    /// Of an archive that fits every store.
    package static let none = StoreIdentity(0, 0)

    package let first: UInt64
    package let second: UInt64

    package init(_ first: UInt64, _ second: UInt64) {
        self.first = first
        self.second = second
    }
}
