import Foundation
import TraylogDomain

/// Texts as a search compares them, by Foundation's and Swift's own Unicode data.
package enum NaiveText {
    package static func folded(_ text: String) -> String {
        var text = text
        while true {
            var scalars = String.UnicodeScalarView()
            for scalar in text.decomposedStringWithCompatibilityMapping.unicodeScalars where !isDropped(scalar) {
                // By way of the upper case, so that ß becomes ss and the final sigma another one.
                scalars.append(contentsOf: scalar.properties.uppercaseMapping.unicodeScalars)
            }
            let folded = String(scalars).lowercased().decomposedStringWithCompatibilityMapping
            let next = String(String.UnicodeScalarView(folded.unicodeScalars.lazy.filter { !isDropped($0) }))
                .replacing("ς", with: "σ")
            if next.utf8.elementsEqual(text.utf8) { return next }
            text = next
        }
    }

    private static func isDropped(_ scalar: Unicode.Scalar) -> Bool {
        let properties = scalar.properties
        return properties.canonicalCombiningClass != .notReordered || properties.generalCategory == .enclosingMark
            || properties.isDefaultIgnorableCodePoint
    }

    /// Whether one text is a part of the other, scalar by scalar.
    package static func contains(_ text: String, _ part: String) -> Bool {
        let (text, part) = (Array(text.unicodeScalars), Array(part.unicodeScalars))
        guard part.count <= text.count else { return false }
        return part.isEmpty
            || (0...text.count - part.count).contains { text[$0..<$0 + part.count].elementsEqual(part) }
    }
}

extension SeededRandom {
    /// A filter with texts, actors, levels and times that some items have, or none.
    ///
    /// - Parameter items: those of a user, whose times the filter takes.
    package mutating func search(_ items: [Item], of user: String) -> ItemFilter {
        var filter = ItemFilter()
        guard let item = items.isEmpty ? nil : pick(items) else { return ItemFilter(text: "nothing") }
        if chance(25) { filter.actor = pick([item.actor ?? user, user, "nobody"]) }
        if chance(25) { filter.level = pick(InterruptionLevel.allCases) }
        if chance(25) { filter.since = item.recordedAt }
        if chance(25) { filter.until = pick(items).recordedAt }
        if chance(60) {
            filter.text = (0...below(2)).map { _ in part(of: item) }.joined(separator: pick([" ", "\t\n"]))
        }
        return filter
    }

    /// Some letters of an item's texts, in another case now and then.
    private mutating func part(of item: Item) -> String {
        let words = [item.content.title, item.content.body].compactMap(\.self)
            .flatMap { $0.split(whereSeparator: \.isWhitespace) }
        guard !words.isEmpty, chance(90) else { return pick(["Title", "zz", "", "É"]) }
        let word = Array(pick(words).unicodeScalars.prefix(40))
        let start = below(word.count)
        let part = String(String.UnicodeScalarView(word[start..<between(start + 1, word.count)]))
        return chance(30) ? part.uppercased() : part
    }
}
