import Foundation

/// A torture worker's result for one point.
package struct TortureLine: Codable, Sendable {
    package var acknowledged: UInt64 = 0
    package var lost: UInt64 = 0
    package var wrong = 0
    /// What was wrong, and how to repeat it.
    package var note: String?
    /// The time that opening a store took, if that was measured.
    package var opening: OpeningTorture.Opening?

    package init() {}

    /// Checks one point, and reports the result.
    ///
    /// - Parameters:
    ///   - label: how to repeat the point.
    ///   - body: returns the number of acknowledged events that it looked for.
    package init(_ label: String, _ body: () throws -> UInt64) {
        do {
            acknowledged = try body()
        } catch let error as LostEvents {
            (acknowledged, lost) = (error.acknowledged, error.acknowledged - error.found)
            note = "\(label): \(error)"
        } catch {
            wrong = 1
            note = "\(label): \(error)"
        }
    }

    /// Prints a message for people.
    package static func complain(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }

    package func say() {
        let bytes = (try? JSONEncoder().encode(self)) ?? Data()
        FileHandle.standardOutput.write(bytes + Data("\n".utf8))
    }
}
