import Foundation

/// What came of all points of one kind: the last line that a program of the torture says.
package struct TortureReport: Codable, Hashable, Sendable {
    package var kind: String
    package var points = 0
    /// Acknowledged events that were looked for, at each point anew.
    package var acknowledged: UInt64 = 0
    package var lost: UInt64 = 0
    package var wrong = 0
    package var signals = 0
    package var seed: UInt64
    /// From opening to the first answer, where that is what was measured.
    package var milliseconds: Int?
    /// Why there are no points, when that is not a fault.
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
