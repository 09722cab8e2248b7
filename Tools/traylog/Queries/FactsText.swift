import TerminalText

/// Names and values, one pair a line.
struct FactsText {
    private let facts: [(name: String, value: Cell)]

    init(_ facts: [(String, Cell)]) { self.facts = facts.map { (name: $0.0, value: $0.1) } }

    func lines(on terminal: Terminal) -> [String] {
        let width = facts.map { DisplayWidth.of($0.name) }.max() ?? 0
        return facts.map { fact in
            let name = Style.dim.apply(to: fact.name.padded(to: width, .left), on: terminal)
            let room = max(1, terminal.columns - width - 2)
            return name + "  " + fact.value.style.apply(to: fact.value.text.truncated(to: room), on: terminal)
        }
    }
}
