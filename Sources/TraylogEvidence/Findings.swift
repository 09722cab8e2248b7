/// What is wrong, in words and in order.
///
/// A file of somebody else may have something wrong in each of its lines, so only so many are named, and none is longer
/// than a person reads.
package struct Findings: Sendable {
    /// How many are named; more are only counted.
    package static let named = 1_000
    private static let longestBytes = 2_048

    private var texts: [String] = []
    private var unnamed = 0

    package init() {}

    package var isEmpty: Bool { texts.isEmpty }
    /// The named ones and the others.
    package var count: Int { texts.count + unnamed }
    /// The named ones; a last text says how many more there are.
    package var words: [String] { unnamed == 0 ? texts : texts + ["and \(unnamed) more findings"] }

    package mutating func add(_ message: String) {
        guard texts.count < Self.named else {
            unnamed += 1
            return
        }
        // Whoever reads it is running it.
        let text = Self.cut(message).removing("run `traylog verify`, then ").removing("run `traylog verify`, and ")
        if !texts.contains(text) { texts.append(text) }
    }

    /// Adds those of another part.
    package mutating func add(_ others: Findings) {
        for text in others.texts { add(text) }
        unnamed += others.unnamed
    }

    /// Changes one that was added before: its place is what ``count`` was then; one that is not named stays so.
    mutating func replace(at place: Int, with message: String) {
        if place < texts.count { texts[place] = Self.cut(message) }
    }

    private static func cut(_ text: String) -> String {
        guard text.utf8.count > longestBytes else { return text }
        return String(decoding: text.utf8.prefix(longestBytes), as: UTF8.self) + "…"
    }
}

extension String {
    /// The text without the first occurrence of a part.
    fileprivate func removing(_ part: String) -> String {
        guard let start = indices.first(where: { self[$0...].hasPrefix(part) }) else { return self }
        return String(self[..<start]) + self[index(start, offsetBy: part.count)...]
    }
}
