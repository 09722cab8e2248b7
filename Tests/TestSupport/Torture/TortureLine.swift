import Foundation

/// What a worker of the torture says of one point.
package struct TortureLine: Codable, Sendable {
    package var acknowledged: UInt64 = 0
    package var lost: UInt64 = 0
    package var wrong = 0
    /// What was wrong, and how to repeat it.
    package var note: String?
    /// How long it took to open a store, where that is what was done.
    package var opening: OpeningTorture.Opening?

    package init() {}

    /// Does what is to be checked at one point, and says what came of it.
    ///
    /// - Parameters:
    ///   - label: how to repeat the point.
    ///   - body: returns how many acknowledged events it looked for.
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

    /// Says something to whoever watches.
    package static func complain(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }

    package func say() {
        let bytes = (try? JSONEncoder().encode(self)) ?? Data()
        FileHandle.standardOutput.write(bytes + Data("\n".utf8))
    }
}
