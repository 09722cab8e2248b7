/// Names that stores may get wrong: they look equal but differ in bytes, sort unusually, are long, or look like syntax.
package enum HistoryNames {
    private static let odd = [
        "ann", "Zoë", "Zoe\u{308}", "日本語", "👩‍👩‍👧", "a b", "../up", "\"quoted\"", "Ann", "z", "\u{10ffff}", "\u{fffd}",
        "null", "0",
        "%41", "naïve", "ﬀ", "i\u{307}", "a\\nb", "{}",
    ]

    /// `count` different names (in bytes); the odd ones first, then plain ones.
    package static func names(_ count: Int, _ prefix: String) -> [String] {
        (0..<count).map { index in
            if index == odd.count { return String(repeating: "l", count: 256) }
            return index < odd.count ? odd[index] : "\(prefix)\(index)"
        }
    }

    package static func categories(_ count: Int) -> [String] { names(count, "category") }

    package static let people = ["Alice", "Me", "Bob", "Зоя", "Zoë", "Zoe\u{308}"]
}
