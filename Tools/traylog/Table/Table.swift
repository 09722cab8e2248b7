import TerminalText

/// Rows under headings, as wide as the terminal at most.
///
/// In a pipe nothing is cut.
///
/// It can be printed in parts: the first rows decide the widths, and the rows that follow keep to them.
struct Table {
    private let columns: [Column]
    private let terminal: Terminal
    private var widths: [Int]?
    private let isEndless: Bool
    private static let gap = 2
    /// The widest that a column of texts gets where lines have no limit, and the main one where others lack room.
    private static let comfortableWidth = 60

    /// - Parameter isEndless: rows come one by one, and the first says little of the others: columns get room
    ///   in advance, the last one all that is left.
    init(_ columns: [Column], on terminal: Terminal, isEndless: Bool = false) {
        self.columns = columns
        self.terminal = terminal
        self.isEndless = isEndless
    }

    /// The lines of the next rows; before the first, the headings.
    mutating func lines(_ rows: [[Cell]]) -> [String] {
        if let widths { return rows.map { line($0, widths) } }
        let widths = fittedWidths(rows)
        self.widths = widths
        let headings = columns.map { Cell($0.title, .dim) }
        return ([headings] + rows).map { line($0, widths) }
    }

    private func line(_ cells: [Cell], _ widths: [Int]) -> String {
        var result = ""
        for (index, cell) in cells.enumerated() {
            let column = columns[index]
            let isLast = index == cells.count - 1
            let isWhole = column.minimum == nil || !terminal.isLimited
            let text = isWhole ? cell.text : cell.text.truncated(to: widths[index])
            let padded = isLast && column.alignment == .left ? text : text.padded(to: widths[index], column.alignment)
            result += cell.style.apply(to: padded, on: terminal)
            if !isLast { result += String(repeating: " ", count: Self.gap) }
        }
        while result.last == " " { result.removeLast() }
        return result
    }

    /// The natural widths, with the widest flexible column shrunk again and again until everything fits.
    ///
    /// One long text in the main column takes no room from the others; where the window is narrow, they give way before it.
    private func fittedWidths(_ rows: [[Cell]]) -> [Int] {
        var widths = columns.indices.map { index in
            let widest = rows.map { DisplayWidth.of($0[index].text) }.max() ?? 0
            let natural = max(widest, DisplayWidth.of(columns[index].title))
            guard columns[index].minimum != nil else { return isEndless ? max(natural, 8) : natural }
            let room = terminal.isLimited ? terminal.columns : Self.comfortableWidth
            return min(isEndless ? max(natural, 16) : natural, room)
        }
        var excess = widths.reduce(0, +) + Self.gap * (columns.count - 1) - terminal.columns
        while excess > 0 {
            let shrinkable = columns.indices.filter { widths[$0] > columns[$0].minimum ?? .max }
            let others = shrinkable.filter { !columns[$0].isMain }
            let wide = shrinkable.filter { columns[$0].isMain && widths[$0] > Self.comfortableWidth }
            let first = wide.isEmpty ? (others.isEmpty ? shrinkable : others) : wide
            guard let index = first.max(by: { widths[$0] < widths[$1] }) else { break }
            widths[index] -= 1
            excess -= 1
        }
        if isEndless, terminal.isLimited, excess < 0, let last = columns.lastIndex(where: { $0.minimum != nil }) {
            widths[last] -= excess
        }
        return widths
    }
}
