/// A store's answer to one query: its digest, or an error.
package struct Answer: Hashable, Sendable {
    package var question: String
    /// Nil for an error.
    package var digest: UInt64?
    /// The answer's beginning, or the error.
    package var words: String

    package init(question: String, answer: String) {
        self.question = question
        digest = Self.digest(of: answer)
        words = Self.line(answer)
    }

    package init(question: String, error: String) {
        self.question = question
        digest = nil
        words = Self.line(error)
    }

    /// As one line.
    package var text: String { [question, digest.map { String($0, radix: 16) } ?? "!", words].joined(separator: "\t") }

    package init?(text: Substring) {
        let fields = text.split(separator: "\t", maxSplits: 2, omittingEmptySubsequences: false)
        guard fields.count == 3 else { return nil }
        question = String(fields[0])
        digest = fields[1] == "!" ? nil : UInt64(fields[1], radix: 16)
        words = String(fields[2])
        if digest == nil, fields[1] != "!" { return nil }
    }

    private static func line(_ text: String) -> String {
        String(text.prefix(300)).replacing("\n", with: " ").replacing("\t", with: " ")
    }

    private static func digest(of text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }
}
