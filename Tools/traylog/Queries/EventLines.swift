@_spi(Operations) import Traylog

/// Events of the log on their way to the output, in JSON, in a table, or for a spreadsheet.
struct EventLines {
    private let output: Output
    private let kinds: Set<EventKind>
    private let isJSON: Bool
    private let isCSV: Bool
    private var table: Table
    private var isEmpty = true

    private let terminal: Terminal

    /// A narrow terminal has no room for who acted, and from where.
    private static func showsActor(on terminal: Terminal) -> Bool { terminal.columns >= 110 }

    private static func columns(on terminal: Terminal) -> [Column] {
        let actor: [Column] = showsActor(on: terminal) ? [.flexible("ACTOR"), .flexible("DEVICE")] : []
        return [.whole("SEQ", .right), .time("RECORDED"), .whole("KIND"), .flexible("USER")] + actor + [
            .main("WHAT")
        ]
    }

    /// - Parameter kinds: only these; all when empty.
    init(_ output: Output, kinds: Set<EventKind>, isJSON: Bool, isCSV: Bool = false, isEndless: Bool = false) {
        self.output = output
        self.kinds = kinds
        self.isJSON = isJSON
        self.isCSV = isCSV
        terminal = Terminal(.standardOutput)
        table = Table(Self.columns(on: terminal), on: terminal, isEndless: isEndless)
    }

    mutating func write(_ events: [Event]) throws {
        let wanted = kinds.isEmpty ? events : events.filter { kinds.contains($0.kind) }
        if isJSON {
            for event in wanted { try output.json { $0.write(event) } }
        } else if isCSV {
            if isEmpty { try output.line(CSVText.line(Event.csvNames)) }
            isEmpty = false
            for event in wanted { try output.line(CSVText.line(event.csvFields)) }
        } else if !wanted.isEmpty {
            isEmpty = false
            try output.lines(table.lines(wanted.map(row)))
        }
    }

    /// Says so when there was nothing to write, and where there is more.
    mutating func finish(more: String? = nil) throws {
        if isEmpty, isCSV {
            try write([])
        } else if isEmpty, !isJSON {
            try output.line("no events")
        }
        if let more, !isJSON, !isCSV { try output.line("more: \(more)") }
    }

    func flush() throws { try output.flush() }

    private func row(_ event: Event) -> [Cell] {
        let actor = Self.showsActor(on: terminal) ? [Cell(event.shownActor), Cell(event.device)] : []
        return [Cell(event.seq), Cell(event.recordedAt), Cell(event.kind.rawValue), Cell(event.user)] + actor + [
            Cell(event.words)
        ]
    }
}
