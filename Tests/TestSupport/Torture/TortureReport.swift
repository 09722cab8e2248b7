import Foundation

/// The result of all points of one kind: the last line of a torture program's output.
package struct TortureReport: Codable, Hashable, Sendable {
    package var kind: String
    package var points = 0
    /// Acknowledged events that were looked for, summed over the points.
    package var acknowledged: UInt64 = 0
    package var lost: UInt64 = 0
    package var wrong = 0
    package var signals = 0
    package var seed: UInt64
    /// The time from opening to the first answer, if that was measured.
    package var milliseconds: Int?
    /// The reason why there are no points, if that is not a fault.
    package var skipped: String?

    package init(kind: String, seed: UInt64) { (self.kind, self.seed) = (kind, seed) }

    package var isClean: Bool { lost == 0 && wrong == 0 && signals == 0 }

    package mutating func count(_ line: TortureLine) {
        points += 1
        acknowledged += line.acknowledged
        lost += line.lost
        wrong += line.wrong
    }

    package var json: String {
        get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
    }
}
