/// Acknowledged events that a store does not have.
package struct LostEvents: Error, CustomStringConvertible {
    package var acknowledged: UInt64
    package var found: UInt64

    package var description: String { "\(acknowledged) events were acknowledged, and the log has \(found)" }
}
