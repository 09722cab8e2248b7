import Foundation

/// The output of one run of one program: numbers with names.
struct Figures: Sendable {
    var values: [String: Double] = [:]

    init(_ values: [String: Double]) { self.values = values }

    /// Members that are no numbers are left out.
    init(json: Data) throws {
        guard let members = try JSONSerialization.jsonObject(with: json) as? [String: Any] else {
            throw BenchError("no JSON object: \(String(decoding: json.prefix(200), as: UTF8.self))")
        }
        values = members.compactMapValues { ($0 as? NSNumber)?.doubleValue }
    }

    var json: String {
        get throws {
            String(decoding: try JSONSerialization.data(withJSONObject: values, options: .sortedKeys), as: UTF8.self)
        }
    }
}
