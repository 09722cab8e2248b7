/// The path of a store, in words that people read.
enum StorePath {
    /// A text with other words for a path, or for the beginning of the path of a file in it.
    ///
    /// A word that contains the path, or a path that ends or begins otherwise, stays as it is.
    static func replace(_ path: String, in text: String, with words: String) -> String {
        let path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        guard !path.isEmpty, path != "/" else { return text }
        var (result, rest) = ("", text[...])
        while let found = rest.firstRange(of: path) {
            let before = text[..<found.lowerBound].unicodeScalars.last
            let isWhole = !(before.map(isOfPath) ?? false) && endsName(text[found.upperBound...])
            result += rest[..<found.lowerBound] + (isWhole ? words : path)
            rest = text[found.upperBound...]
        }
        return result + rest
    }

    private static func isOfName(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil || scalar == "_" || scalar == "-"
    }

    private static func isOfPath(_ scalar: Unicode.Scalar) -> Bool {
        isOfName(scalar) || scalar == "/" || scalar == "."
    }

    /// Whether no name goes on here; a full stop may end a sentence.
    private static func endsName(_ rest: Substring) -> Bool {
        let next = rest.unicodeScalars.first { $0 != "." }
        return !(next.map(isOfName) ?? false)
    }
}
