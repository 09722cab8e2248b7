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
    /// What a column of names needs for most of them.
    private static let nameWidth = 16
    /// After so many rows at once more may follow, whose names may be longer.
    private static let fewRows = 200

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

    /// The natural widths, shrunk or with more room, until they fill the terminal.
    ///
    /// One long text in the main column takes no room from the others; where the window is narrow, they give way before it,
    /// until it has twice the room of each.
    private func fittedWidths(_ rows: [[Cell]]) -> [Int] {
        var widths = columns.indices.map { index in
            let widest = rows.map { DisplayWidth.of($0[index].text) }.max() ?? 0
            let natural = max(widest, DisplayWidth.of(columns[index].title))
            guard columns[index].minimum != nil else { return isEndless ? max(natural, 8) : natural }
            let room = terminal.isLimited ? terminal.columns : Self.comfortableWidth
            return min(isEndless ? max(natural, Self.nameWidth) : natural, room)
        }
        guard terminal.isLimited else { return widths }
        let spare = terminal.columns - widths.reduce(0, +) - Self.gap * (columns.count - 1)
        if spare < 0 {
            shrink(&widths, by: -spare)
        } else {
            widen(&widths, by: spare, hasMore: isEndless || rows.count >= Self.fewRows)
        }
        return widths
    }

    private func shrink(_ widths: inout [Int], by excess: Int) {
        for _ in 0..<excess {
            let shrinkable = columns.indices.filter { widths[$0] > columns[$0].minimum ?? .max }
            let wide = shrinkable.filter { columns[$0].isMain && widths[$0] > Self.comfortableWidth }
            func share(_ index: Int) -> Int { columns[index].isMain ? widths[index] : 2 * widths[index] }
            guard let index = (wide.isEmpty ? shrinkable : wide).max(by: { share($0) < share($1) }) else { return }
            widths[index] -= 1
        }
    }

    /// Gives columns of text room for rows that follow: those of names as much as most names need, the last one the rest.
    private func widen(_ widths: inout [Int], by spare: Int, hasMore: Bool) {
        let flexible = columns.indices.filter { columns[$0].minimum != nil }
        guard let last = flexible.last else { return }
        var rest = spare
        while hasMore, rest > 0 {
            let narrow = flexible.filter { $0 != last && !columns[$0].isMain && widths[$0] < Self.nameWidth }
            guard let index = narrow.min(by: { widths[$0] < widths[$1] }) else { break }
            widths[index] += 1
            rest -= 1
        }
        // At the end of the line more room changes nothing of the rows before; elsewhere it would tear them apart.
        if last == columns.count - 1 || hasMore { widths[last] += rest }
    }
}
