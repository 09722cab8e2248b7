import ArgumentParser
@_spi(Operations) @_spi(Wire) import Traylog

struct AudienceCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "audience",
        abstract: "Show how many of a broadcast's recipients have seen, read and answered it, or who.",
        discussion: """
            An item that is gone keeps the states that it had when it went. It reads the tray of every user.

            With --list one recipient a line, in byte order of the users' names, with the event that made the item seen \
            or read last, and the answer. Where that event left the log, --archive says it. With --json the last line is {"next"} when --limit leaves some out.

            EXAMPLES
              traylog audience 17
              traylog audience 17 --as-of yesterday --json
              traylog audience 17 --list unread
              traylog audience 17 --list awaiting
              traylog audience 17 --list read --archive old
              traylog audience 17 --list unread --limit 1000 --json
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The seq of the broadcast.")
    var seq: Seq

    @OptionGroup var moment: MomentOption

    @Option(help: ArgumentHelp("List these recipients.", valueName: "which"))
    var list: Word<Audience.Part>?

    @Option(help: ArgumentHelp("The most recipients to list.", valueName: "n"))
    var limit: WireNumber?

    @Option(help: "The cursor at the end of the list before.")
    var cursor: String?

    @OptionGroup var archive: ArchiveOption

    func validate() throws {
        try requireStore()
        guard list != nil || (limit == nil && cursor == nil && archive.directory == nil) else {
            throw ValidationError("'--limit', '--cursor' and '--archive' go with '--list'.")
        }
        _ = try limit?.of("--limit", within: 1...Int.max)
    }

    func run() throws {
        try withReader { reader in
            if let list { try show(list.value, reader) } else { try showCounts(reader) }
        }
    }

    private func showCounts(_ reader: BlockingReader) throws {
        let audience = try withProgress { progress throws(TraylogError) in
            try reader.audience(of: seq, asOf: moment.asOf, progress: progress)
        }
        try printing { output in
            if global.json {
                try output.json { $0.write(audience) }
            } else {
                try output.lines(Self.facts(audience).lines(on: Terminal(.standardOutput)))
            }
        }
    }

    private static let chunk = 1_000

    /// Lists recipients some at a time, as of one moment.
    private func show(_ part: Audience.Part, _ reader: BlockingReader) throws {
        let asOf = try moment.asOf ?? .seq(reader.head())
        let archives = try archive.open(for: reader)
        try printing { output in
            var table = Table(Self.columns, on: Terminal(.standardOutput))
            var (last, rest) = (cursor, limit?.clamped(to: 1...Int.max) ?? .max)
            repeat {
                let page = try withProgress { progress throws(TraylogError) in
                    try reader.recipients(
                        of: seq, part, after: last, limit: min(Self.chunk, rest), asOf: asOf, including: archives,
                        progress: progress)
                }
                (last, rest) = (page.next, rest - page.elements.count)
                if global.json {
                    for recipient in page.elements { try output.json { $0.write(recipient) } }
                } else {
                    try output.lines(table.lines(page.elements.map(Self.row)))
                }
            } while last != nil && rest > 0
            guard let last else { return }
            if global.json {
                try output.json { $0.write(next: last) }
            } else {
                try output.line("more: --cursor \(VisibleText(last).text)")
            }
        }
    }

    private func withProgress<Answer>(
        _ body: (_ progress: (UInt64, UInt64) -> Void) throws(TraylogError) -> Answer
    ) throws -> Answer {
        var bar = ProgressBar("audience", unit: "users")
        let result = Result { () throws(TraylogError) in
            try body { done, total in
                bar.update(count: done, fraction: total > 0 ? Double(done) / Double(total) : nil)
            }
        }
        bar.clear()
        return try result.get()
    }

    private static func facts(_ audience: Audience) -> FactsText {
        func part(_ count: Int) -> Cell {
            Share(of: count, in: audience.recipients).map { Cell("\(count.grouped) (\($0))") } ?? Cell(count)
        }
        let answers: [(String, Cell)] = audience.outcomes.map {
            ("answer \(VisibleText($0.action).text)", part($0.count))
        }
        return FactsText(
            [
                ("item", Cell(audience.item, .bold)), ("recipients", Cell(audience.recipients, .bold)),
                ("seen", part(audience.seen)), ("read", part(audience.read)), ("archived", part(audience.archived)),
                ("deleted", part(audience.deleted)), ("awaiting", part(audience.awaiting)),
            ] + answers + [("erased", Cell(audience.erased)), ("as of", Cell(audience.asOf))])
    }

    private static let columns: [Column] = [
        .flexible("USER", minimum: 12), .whole("SEEN BY", .right), .time("SEEN AT"), .whole("READ BY", .right),
        .time("READ AT"), .flexible("ANSWER", minimum: 6),
    ]

    private static func row(_ recipient: Recipient) -> [Cell] {
        func cells(_ occasion: Recipient.Occasion?) -> [Cell] {
            occasion.map { [Cell($0.seq), Cell($0.at)] } ?? [Cell("", .dim), Cell("", .dim)]
        }
        return [Cell(recipient.user)] + cells(recipient.seen) + cells(recipient.read)
            + [Cell(recipient.outcome?.action)]
    }
}
