import TestSupport
import Testing

@testable import TraylogDomain

/// A search finds what a plain comparison at each place finds, in time that words which repeat do not lengthen.
@Suite struct TextSearchTests {
    private func text(_ random: inout SeededRandom, atMost length: Int) -> String {
        String((0..<random.below(length + 1)).map { _ in random.chance(33) ? "b" : "a" })
    }

    @Test(arguments: UInt64(0)..<4)
    func wordsAreFoundWhereTheyOccur(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var found = 0
        for _ in 0..<2_000 {
            let (word, body) = (text(&random, atMost: 7), text(&random, atMost: 24))
            guard var search = TextSearch(word) else {
                #expect(word.isEmpty)
                continue
            }
            let occurs = Array(body).indices.contains { body.dropFirst($0).hasPrefix(word) }
            let isFound = search.matches(body)
            #expect(isFound == occurs, "seed \(seed): \(word) in \(body)")
            found += occurs ? 1 : 0
        }
        #expect(found > 200)
    }

    @Test func aWordThatAlmostOccursEverywhereIsLookedForOnce() throws {
        let body = String(repeating: "a", count: 1_000_000)
        var search = try #require(TextSearch(String(repeating: "a", count: 200_000) + "b"))
        // At each place anew this would take hours.
        let found = [search.matches(body), search.matches(body + "b")]
        #expect(found == [false, true])
    }
}
