/// The words that a search looks for in the texts of items.
struct TextSearch {
    private let words: [SoughtBytes]
    /// Holds one folded text, and keeps its memory for the next.
    private var folded: [UInt8] = []

    /// - Parameter text: words with white space between; nil without any.
    init?(_ text: String) {
        words = text.unicodeScalars.split(whereSeparator: \.properties.isWhitespace).compactMap { word in
            var folded: [UInt8] = []
            Folding.fold(Substring(word), into: &folded)
            // An accent alone folds to nothing.
            return folded.isEmpty ? nil : SoughtBytes(folded)
        }
        guard !words.isEmpty else { return nil }
    }

    /// Whether each word occurs in one of the texts.
    ///
    /// - Complexity: O(bytes of the texts × words), whatever the words are.
    mutating func matches(_ texts: String?...) -> Bool {
        var rest = words
        for text in texts {
            guard let text, !rest.isEmpty else { continue }
            folded.removeAll(keepingCapacity: true)
            Folding.fold(text, into: &folded)
            rest.removeAll { $0.occurs(in: folded.span) }
        }
        return rest.isEmpty
    }
}

/// Some bytes, at least one, prepared to be found in time that does not depend on how often they repeat (Knuth, Morris, Pratt).
package struct SoughtBytes {
    private let bytes: [UInt8]
    /// For each beginning of the bytes, by its length less one: how many of them it also ends with, without being all of it.
    private let borders: [Int]

    /// - Precondition: there is at least one.
    package init(_ bytes: [UInt8]) {
        precondition(!bytes.isEmpty, "Nothing is looked for.")
        self.bytes = bytes
        var borders = [0]
        borders.reserveCapacity(bytes.count)
        var length = 0
        for byte in bytes.dropFirst() {
            while length > 0, bytes[length] != byte { length = borders[length - 1] }
            if bytes[length] == byte { length += 1 }
            borders.append(length)
        }
        self.borders = borders
    }

    /// Whether the bytes occur in a row.
    package func occurs(in text: Span<UInt8>) -> Bool {
        let (bytes, borders) = (bytes.span, borders.span)
        guard text.count >= bytes.count else { return false }
        var length = 0
        for index in text.indices {
            let byte = text[index]
            while length > 0, bytes[length] != byte { length = borders[length - 1] }
            if bytes[length] == byte { length += 1 }
            if length == bytes.count { return true }
        }
        return false
    }
}
