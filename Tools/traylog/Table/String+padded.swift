import TerminalText

extension String {
    /// The text and as many spaces as it takes to fill `columns` cells.
    func padded(to columns: Int, _ alignment: Column.Alignment) -> String {
        let spaces = String(repeating: " ", count: max(0, columns - DisplayWidth.of(self)))
        return alignment == .left ? self + spaces : spaces + self
    }
}
