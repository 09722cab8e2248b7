import TraylogDomain

/// The name of a projection, checked; equal when the bytes are.
struct ProjectionName: Hashable, Sendable {
    static let maximumBytes = 128

    let text: String
    let bytes: [UInt8]

    /// - Throws: ``Refusal/invalid(field:reason:)``.
    init(_ text: String) throws(Refusal) {
        try Limits.check(identifier: text, "name")
        guard text.utf8.count <= ProjectionName.maximumBytes else {
            throw .invalid(field: "name", reason: "a projection's is at most \(ProjectionName.maximumBytes) bytes long")
        }
        self.text = text
        bytes = Array(text.utf8)
    }

    static func == (left: ProjectionName, right: ProjectionName) -> Bool { left.bytes == right.bytes }

    func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}
