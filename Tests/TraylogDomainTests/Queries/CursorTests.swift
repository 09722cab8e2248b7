import TestSupport
import Testing

@testable import TraylogDomain

@Suite struct CursorTests {
    @Test(arguments: [1, 2, 35, 36, 1 << 32, 1 << 63, .max - 1, .max] as [UInt64])
    func everyCursorIsReadAgain(position: UInt64) {
        let cursor = Cursor(before: Seq(position))
        #expect(Cursor(cursor.description) == cursor)
        #expect(cursor.description.wholeMatch(of: /[-0-9a-z]+/) != nil)
    }

    @Test(arguments: [
        "", "c", "c1", "c1-", "c1-0", "c1-00", "c1-01", "c1-+1", "c1--1", "c1- 1", "c1-1 ", "c1-A", "C1-a", "c2-1",
        "c1-3w5e11264sgsg", "c1-zzzzzzzzzzzzz", "c1-00000000000001", "c1-1\u{301}", "c1-\u{301}1", "c1\u{301}-1",
        "c\u{301}1-1", "c1-\u{0661}", "c1-\u{ff11}", "c1-1\0", "c1-\r\n", "\u{feff}c1-1", "c1-1.0", "c1-1_0",
    ])
    func aForgedCursorIsRefused(text: String) {
        #expect(Cursor(text) == nil)
    }

    @Test(arguments: UInt64(0)..<4)
    func anyTextIsACursorThatPrintsItOrNone(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let pieces = ["c1-", "c", "1", "-", "z", "3w5e11264sgsf", "+", "0", "\u{301}", "\r\n", "Z"]
        for _ in 0..<5_000 {
            var text = random.chance(80) ? "c1-" : ""
            for _ in 0..<random.below(5) {
                text += random.chance(50) ? random.pick(pieces) : String(random.number(), radix: 36)
            }
            guard let cursor = Cursor(text) else { continue }
            #expect(cursor.description.hasSameBytes(as: text), "seed \(seed)")
            #expect(cursor.before > .zero, "seed \(seed)")
        }
    }
}
