import ArgumentParser
@_spi(Operations) import Traylog

struct HistoryCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Show a user's own events, oldest first: the audit trail.",
        discussion: """
            Nothing is hidden. With --json one event a line. With --archive it includes the events that compactions \
            removed from the log; without, a note on standard error says where they may be missing.

            EXAMPLES
              traylog history alice
              traylog history alice --from 1000 --to 2000 --json
              traylog history alice --from yesterday --to "2026-11-22 03:37"
              traylog history alice --archive old
              traylog history alice --csv > alice.csv
              traylog history alice --kind audited
              traylog history alice --newest-first --limit 20 --device phone
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    @OptionGroup var range: SeqRange
    @OptionGroup var moment: MomentOption
    @OptionGroup var archive: ArchiveOption
    @OptionGroup var search: SearchOptions
    @OptionGroup var form: CSVOption

    @Option(help: "Only events of this kind, such as 'audited' for who looked; may be repeated.")
    var kind: [Word<EventKind>] = []

    func validate() throws {
        try requireStore()
        try form.check(global)
    }

    func run() throws {
        try recordReading(of: user)
        try withReader { reader in
            let archives = try archive.open(for: reader)
            let head = try moment.asOf.map { try reader.seq(of: $0) } ?? reader.head()
            let (first, end) = try range.seqs(reader, archives)
            let last = min(end ?? head, head)
            var found = search.search(
                reader, user: user, kinds: Set(kind.map(\.value)), from: first, through: last, archives)
            var chunks = EventChunks(from: first, through: last) {
                (from, limit) throws(TraylogError) in
                try reader.history(of: user, from: from, limit: limit, including: archives).elements
            }
            if !global.json { try noteIfUnknown(user, reader) }
            if !search.isOfNewest {
                try noteIfCompacted(
                    from: range.from ?? search.since ?? .seq(1), asOf: moment.asOf, reader, archive: archive)
            }
            try printing { output in
                var isEmpty = true
                if form.csv { try output.line(CSVText.line(Event.csvNames)) }
                let terminal = Terminal(.standardOutput)
                var table = Table(Self.columns(on: terminal), on: terminal)
                while let events = try search.isSet || !kind.isEmpty ? found.take() : chunks.take() {
                    isEmpty = false
                    if global.json {
                        for event in events { try output.json { $0.write(event) } }
                    } else if form.csv {
                        for event in events { try output.line(CSVText.line(event.csvFields)) }
                    } else {
                        try output.lines(table.lines(events.map { Self.row($0, on: terminal) }))
                    }
                }
                if isEmpty, !global.json, !form.csv { try output.line("no events") }
                if let more = found.more, !global.json, !form.csv { try output.line("more: \(more)") }
            }
        }
    }

    /// A narrow terminal has no room for the second time.
    private static func showsOccurred(on terminal: Terminal) -> Bool { terminal.columns >= 100 }

    private static func columns(on terminal: Terminal) -> [Column] {
        let times: [Column] = [.time("RECORDED")] + (showsOccurred(on: terminal) ? [.whole("OCCURRED")] : [])
        return [.whole("SEQ", .right)] + times + [
            .whole("KIND"), .flexible("ACTOR"), .flexible("DEVICE"), .main("WHAT"),
        ]
    }

    private static func row(_ event: Event, on terminal: Terminal) -> [Cell] {
        [Cell(event.seq), Cell(event.recordedAt)] + (showsOccurred(on: terminal) ? [Cell(event.occurredAt)] : []) + [
            Cell(event.kind.rawValue), Cell(event.shownActor), Cell(event.device), Cell(event.words),
        ]
    }
}
