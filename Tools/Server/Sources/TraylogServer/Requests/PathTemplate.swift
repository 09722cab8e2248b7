/// The path of a route, such as `/v1/users/{u}/tray`.
package struct PathTemplate: Sendable {
    private enum Part: Sendable {
        case fixed(String)
        case variable(String)
    }

    package let text: String
    private let parts: [Part]

    package init(_ text: String) {
        self.text = text
        parts = text.split(separator: "/").map { part in
            part.hasPrefix("{") ? .variable(String(part.dropFirst().dropLast())) : .fixed(String(part))
        }
    }

    package var variables: [String] {
        parts.compactMap { if case .variable(let name) = $0 { name } else { nil } }
    }

    /// How much of the template is fixed: of two that match, the one with more counts.
    var weight: Int {
        parts.reduce(0) { sum, part in if case .fixed = part { sum * 2 + 1 } else { sum * 2 } }
    }

    var segmentCount: Int { parts.count }

    /// - Parameter segments: as many as the template has; of fewer, the beginning is compared.
    func matches(_ segments: [String]) -> Bool {
        zip(parts, segments).allSatisfy { part, segment in
            if case .fixed(let text) = part { text == segment } else { true }
        }
    }

    /// Whether paths that begin so can match.
    func begins(with segments: [String]) -> Bool { parts.count >= segments.count && matches(segments) }

    /// Whether a path goes on from here.
    func isBeginning(of segments: [String]) -> Bool { parts.count < segments.count && matches(segments) }

    /// The values of the variables, for segments that match.
    package func values(_ segments: [String]) -> [String: String] {
        var values: [String: String] = [:]
        for (part, segment) in zip(parts, segments) {
            if case .variable(let name) = part { values[name] = segment }
        }
        return values
    }
}
