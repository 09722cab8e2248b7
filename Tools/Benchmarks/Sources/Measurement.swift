import Foundation

/// What one run of one program printed.
struct Measurement: Codable, Sendable {
    var seconds: Double
    var eventsPerSecond: Double
    /// How long the store took to write back what appends had left for later.
    var closeSeconds: Double?
    var syncsPerSecond: Double?

    var json: String {
        get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
    }
}

struct BenchError: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
