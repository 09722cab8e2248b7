import Testing

@testable import traylog_cli

struct DisplayWidthTests {
    @Test(arguments: [
        ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本語", 6), ("한글", 4), ("\u{1112}\u{1161}\u{11AB}", 2),
        ("ｗｉｄｅ", 8), ("ﾊﾝｶｸ", 4), ("🚀", 2), ("👩‍👩‍👧‍👦", 2), ("👍🏽", 2), ("🇩🇪", 2), ("❤️", 2), ("❤", 1), ("…", 1),
        ("─", 1), ("a\u{200B}b", 2), ("क्षि", 2), ("𠮷", 2),
    ])
    func textTakesItsCells(text: String, cells: Int) {
        #expect(DisplayWidth.of(text) == cells)
    }

    @Test(arguments: [
        ("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("abcdef", 1, "…"), ("abcdef", 0, ""),
        ("日本語", 6, "日本語"), ("日本語", 5, "日本…"), ("日本語", 4, "日…"), ("日本語", 2, "…"),
        ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"), ("a👩‍👩‍👧‍👦b", 3, "a…"), ("a👩‍👩‍👧‍👦b", 4, "a👩‍👩‍👧‍👦b"),
    ])
    func truncatedTextEndsInAnEllipsis(text: String, columns: Int, shown: String) {
        #expect(text.truncated(to: columns) == shown)
    }

    @Test func truncatedTextNeverTakesMoreThanItsColumns() {
        let text = "a日e\u{301}👩‍👩‍👧‍👦🇩🇪 ❤️bc語"
        for columns in 0...20 {
            #expect(DisplayWidth.of(text.truncated(to: columns)) <= columns)
        }
    }

    @Test func paddingCountsCells() {
        #expect("日本".padded(to: 6, .left) == "日本  ")
        #expect("日本".padded(to: 6, .right) == "  日本")
        #expect("日本".padded(to: 2, .left) == "日本")
    }
}
