import Traylog

/// Events of the log on their way to the output, in JSON or in a table.
struct EventLines {
    private let output: Output
    private let kinds: Set<EventKind>
    private let isJSON: Bool
    private var table: Table

    private static let columns: [Column] = [
        .whole("SEQ", .right), .whole("RECORDED"), .whole("KIND"), .flexible("USER"), .flexible("WHAT", minimum: 12),
    ]

    /// - Parameter kinds: only these; all when empty.
    init(_ output: Output, kinds: Set<EventKind>, isJSON: Bool, isEndless: Bool) {
        self.output = output
        self.kinds = kinds
        self.isJSON = isJSON
        table = Table(Self.columns, on: Terminal(.standardOutput), isEndless: isEndless)
    }

    mutating func write(_ events: [Event]) throws {
        let wanted = kinds.isEmpty ? events : events.filter { kinds.contains($0.kind) }
        if isJSON {
            for event in wanted { try output.json { $0.write(event) } }
        } else if !wanted.isEmpty {
            try output.lines(table.lines(wanted.map(Self.row)))
        }
    }

    func flush() throws { try output.flush() }

    private static func row(_ event: Event) -> [Cell] {
        [
            Cell(event.seq), Cell(event.recordedAt), Cell(event.kind.name), Cell(event.user), Cell(event.words),
        ]
    }
}
