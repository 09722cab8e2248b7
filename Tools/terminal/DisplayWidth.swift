/// How many cells of a terminal text takes.
///
/// It follows the Unicode East Asian Width property: wide and fullwidth characters and emoji take two cells, marks
/// that combine with the character before take none. A cluster of several never takes more than two.
public enum DisplayWidth {
    /// The cells of a whole text.
    public static func of(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { $0 + of($1) }
    }

    /// The cells of one character, with its marks: at most two.
    public static func of(_ character: Character) -> Int {
        var width = 0
        var showsEmoji = false
        for scalar in character.unicodeScalars {
            width += of(scalar)
            // Variation selector 16 asks for the emoji form of a character that has a narrow one, too.
            if scalar.value == 0xFE0F { showsEmoji = true }
        }
        return showsEmoji && width > 0 ? 2 : min(width, 2)
    }

    private static func of(_ scalar: Unicode.Scalar) -> Int {
        if scalar.value < 0x300 { return scalar.value == 0xAD ? 0 : 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        // Vowels and final consonants of a Hangul syllable join the initial consonant's two cells.
        if (0x1160...0x11FF).contains(scalar.value) || (0xD7B0...0xD7FB).contains(scalar.value) { return 0 }
        if isWide(scalar.value) || scalar.properties.isEmojiPresentation && !isRegionalIndicator(scalar) { return 2 }
        return 1
    }

    private static func isRegionalIndicator(_ scalar: Unicode.Scalar) -> Bool {
        (0x1F1E6...0x1F1FF).contains(scalar.value)
    }

    private static func isWide(_ value: UInt32) -> Bool {
        guard value >= 0x1100 else { return false }
        return wideRanges.contains { $0.contains(value) }
    }

    /// East Asian Width W and F except emoji, joined over code points that are not assigned.
    private static let wideRanges: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x3247, 0x3250...0xA4CF, 0xA960...0xA97F,
        0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
        0x16FE0...0x1B2FF, 0x1D300...0x1D37F, 0x1F200...0x1F2FF, 0x20000...0x3FFFD,
    ]
}

extension String {
    /// The text when it fits in `columns` cells, else its beginning and an ellipsis.
    public func truncated(to columns: Int) -> String {
        if utf8.count <= columns { return self }
        var width = 0
        var kept = startIndex
        for index in indices {
            let next = width + DisplayWidth.of(self[index])
            if next > columns { return columns > 0 ? self[..<kept] + "…" : "" }
            width = next
            // The last place where one cell is left for the ellipsis.
            if width < columns { kept = self.index(after: index) }
        }
        return self
    }
}
