import TerminalText
import Testing

@testable import traylog_cli

struct TableTests {
    private let narrow = Terminal(columns: 20, usesColor: false)

    @Test func columnsAreAsWideAsTheirWidestCell() {
        var table = Table([.whole("N", .right), .flexible("NAME")], on: narrow)
        #expect(table.lines([[Cell(7), Cell("日本")], [Cell(12), Cell("b")]]) == [" N  NAME", " 7  日本", "12  b"])
    }

    @Test func theWidestFlexibleColumnGivesWay() {
        var table = Table([.whole("N", .right), .flexible("A", minimum: 3), .flexible("B", minimum: 3)], on: narrow)
        let lines = table.lines([[Cell(123), Cell("short"), Cell("a very long text")]])
        #expect(lines == ["  N  A      B", "123  short  a very …"])
        #expect(lines.allSatisfy { DisplayWidth.of($0) <= 20 })
    }

    @Test func numbersAreNeverCut() {
        var table = Table([.whole("N", .right), .flexible("A", minimum: 3)], on: narrow)
        let lines = table.lines([[Cell(UInt64.max), Cell("abcdef")]])
        #expect(lines.last == "18,446,744,073,709,551,615  ab…")
    }

    @Test func theMainColumnGivesWayLast() {
        var table = Table([.flexible("THREAD", minimum: 6), .main("TITLE")], on: narrow)
        let lines = table.lines([[Cell("a-thread-of-length"), Cell("the title")]])
        #expect(lines.last == "a-thread…  the title")
    }

    @Test func namesAreNotCutWhileTheMainColumnHasTwiceTheirRoom() {
        var table = Table(
            [.flexible("USER"), .main("WHAT")], on: Terminal(columns: 40, usesColor: false))
        let lines = table.lines([
            [Cell("tim.martin"), Cell("short")], [Cell("ann"), Cell(String(repeating: "word ", count: 60))],
        ])
        #expect(lines[1] == "tim.martin  short", "\(lines)")
        #expect(lines[2].hasPrefix("ann         word ") && DisplayWidth.of(lines[2]) == 40, "\(lines)")
    }

    @Test func twoLongColumnsShareWhatTheMainOneLeaves() {
        var table = Table(
            [.flexible("A"), .main("B"), .flexible("C")], on: Terminal(columns: 64, usesColor: false))
        let long = String(repeating: "x", count: 50)
        let parts = table.lines([[Cell(long), Cell(long), Cell(long)]])[1].split(separator: "  ")
        #expect(parts.map { DisplayWidth.of(String($0)) } == [15, 30, 15])
    }

    @Test func aLongTableHasRoomForNamesThatFollow() {
        var table = Table(
            [.flexible("USER"), .main("WHAT")], on: Terminal(columns: 60, usesColor: false))
        _ = table.lines((1...256).map { _ in [Cell("ann"), Cell("short")] })
        let line = table.lines([[Cell("tim.martin"), Cell("rather long, and longer than those before")]])
        #expect(line == ["tim.martin        rather long, and longer than those before"])
    }

    @Test func oneLongTextTakesNoRoomFromTheOtherColumns() {
        var table = Table(
            [.flexible("THREAD"), .flexible("CATEGORY"), .main("TITLE")],
            on: Terminal(columns: 110, usesColor: false))
        let lines = table.lines([
            [Cell("a-thread-of-length"), Cell("a-category-too"), Cell(String(repeating: "word ", count: 60))]
        ])
        #expect(lines.last?.hasPrefix("a-thread-of-length  a-category-too  word word ") == true, "\(lines)")
        #expect(lines.last.map(DisplayWidth.of) ?? 0 > 105)
    }

    @Test func laterRowsKeepTheColumnWidthsOfTheFirst() {
        var table = Table([.flexible("A"), .flexible("B")], on: narrow)
        _ = table.lines([[Cell("ab"), Cell("x")]])
        #expect(table.lines([[Cell("abcdef"), Cell("y")]]) == ["a…  y"])
    }

    @Test func anEndlessTableHasRoomInAdvance() {
        var table = Table(
            [.whole("N", .right), .flexible("A"), .flexible("B")], on: Terminal(columns: 50, usesColor: false),
            isEndless: true)
        _ = table.lines([[Cell(7), Cell("ab"), Cell("x")]])
        #expect(
            table.lines([[Cell(12_345_678), Cell("abcdefghijklmnop"), Cell("twenty-two and no more")]]) == [
                "12,345,678  abcdefghijklmnop  twenty-two and no more"
            ])
    }

    @Test func tablesAreStyledOnlyWhereTheTerminalHasColor() {
        var plain = Table([.flexible("A")], on: narrow)
        var colored = Table([.flexible("A")], on: Terminal(columns: 20, usesColor: true))
        #expect(plain.lines([[Cell("x", .bold)]]) == ["A", "x"])
        #expect(colored.lines([[Cell("x", .bold)]]) == ["\u{1B}[2mA\u{1B}[0m", "\u{1B}[1mx\u{1B}[0m"])
    }

    @Test func aCellCannotActOnTheTerminal() {
        var table = Table([.flexible("A")], on: Terminal(columns: 20, usesColor: true))
        #expect(table.lines([[Cell("\u{1B}[2J")]]).last == "␛[2J")
    }
}
