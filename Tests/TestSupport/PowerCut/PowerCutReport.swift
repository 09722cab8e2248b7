/// The results for the points of one recording.
package struct PowerCutReport: Codable, Hashable, Sendable {
    package var points = 0
    /// Points with unsynced bytes, so that what is left is a matter of chance.
    package var torn = 0
    /// Points at which something was acknowledged already.
    package var acknowledged = 0
    /// Points whose store ended before events that were acknowledged; in relaxed mode one commit may be lost.
    package var behind = 0
    package var syncs = 0
    /// Acknowledged events that had to be there, summed over the points.
    package var events: UInt64 = 0

    package init() {}

    package static func += (left: inout PowerCutReport, right: PowerCutReport) {
        left.points += right.points
        left.torn += right.torn
        left.acknowledged += right.acknowledged
        left.behind += right.behind
        left.syncs += right.syncs
        left.events += right.events
    }
}
