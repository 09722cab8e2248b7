/// The words that a search looks for in the texts of items.
struct TextSearch {
    private let words: [[UInt8]]
    /// Holds one folded text, and keeps its memory for the next.
    private var folded: [UInt8] = []

    /// - Parameter text: words with white space between; nil without any.
    init?(_ text: String) {
        words = text.unicodeScalars.split(whereSeparator: \.properties.isWhitespace).compactMap { word in
            var folded: [UInt8] = []
            Folding.fold(Substring(word), into: &folded)
            // An accent alone folds to nothing.
            return folded.isEmpty ? nil : folded
        }
        guard !words.isEmpty else { return nil }
    }

    /// Whether each word occurs in one of the texts.
    ///
    /// - Complexity: O(bytes of the texts × words).
    mutating func matches(_ texts: String?...) -> Bool {
        var rest = words
        for text in texts {
            guard let text, !rest.isEmpty else { continue }
            folded.removeAll(keepingCapacity: true)
            Folding.fold(text, into: &folded)
            rest.removeAll { folded.span.contains($0.span) }
        }
        return rest.isEmpty
    }
}

extension Span<UInt8> {
    /// Whether these bytes occur in a row; there is at least one.
    fileprivate func contains(_ wanted: Span<UInt8>) -> Bool {
        guard count >= wanted.count else { return false }
        let first = wanted[0]
        for start in 0...(count - wanted.count) where self[start] == first {
            var length = 1
            while length < wanted.count, self[start + length] == wanted[length] { length += 1 }
            if length == wanted.count { return true }
        }
        return false
    }
}
