import ArgumentParser
import TerminalText
@_spi(JSON) @_spi(Operations) @_spi(Wire) import Traylog

struct UsersCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "Show users' trays, in byte order of the users' names.",
        discussion: """
            With --json one tray a line. Sorted by unread, users with most come first; that reads every tray before it \
            prints the first line, and has no cursor.

            EXAMPLES
              traylog users
              traylog users --sort unread --limit 10
              traylog users --limit 100 --cursor alice
              traylog users --prefix team- --json
              traylog users --json | jq -s 'map(.unread) | add'
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var moment: MomentOption

    @Option(help: "Only users whose names begin with this.")
    var prefix = ""

    enum Order: String, CaseIterable, ExpressibleByArgument { case name, unread }

    @Option(help: "Sort by name (in byte order) or by unread items, most first.")
    var sort = Order.name

    @Option(help: ArgumentHelp("The most users to show.", valueName: "n"))
    var limit: WireNumber?

    @Option(help: "The cursor at the end of the list before: the name of its last user.")
    var cursor: String?

    @OptionGroup var form: CSVOption

    func validate() throws {
        try requireStore()
        try form.check(global)
        _ = try limit?.of("--limit", within: 0...Int.max)
        guard cursor == nil || sort == .name else {
            throw ValidationError("'--cursor' goes on in the order of names: leave '--sort unread' out.")
        }
    }

    private static let chunk = 256
    private var wanted: Int { limit?.clamped(to: 0...Int.max) ?? .max }

    func run() throws {
        try withReader { reader in
            try printing { output in
                let held = global.json || form.csv ? [] : reader.heldUsers
                let terminal = Terminal(.standardOutput)
                var shown: (table: Table, marksHolds: Bool)?
                func show(_ trays: [Tray]) throws {
                    if global.json {
                        for tray in trays { try output.json { $0.write(tray) } }
                    } else if form.csv {
                        for tray in trays { try output.line(CSVText.line(tray.csvFields)) }
                    } else {
                        let marksHolds = shown?.marksHolds ?? self.marksHolds(held, trays)
                        var table = shown?.table ?? Table(Self.columns(marksHolds, on: terminal), on: terminal)
                        try output.lines(
                            table.lines(trays.map { Self.row($0, marksHolds ? held : nil, on: terminal) }))
                        shown = (table, marksHolds)
                    }
                }
                if form.csv { try output.line(CSVText.line(Tray.csvNames)) }
                switch sort {
                case .name:
                    guard let next = try forEachChunk(reader, limit: wanted, show) else { break }
                    if global.json {
                        try output.json { $0.write(next: next) }
                    } else if !form.csv {
                        try output.line("more: --cursor \(VisibleText(next).text)")
                    }
                case .unread:
                    let (trays, all) = try byUnread(reader)
                    try show(trays)
                    if all > trays.count, !global.json, !form.csv {
                        try output.line("more: \((all - trays.count).counted("user")), with no more unread items")
                    }
                }
            }
        }
    }

    /// Whether the list marks who is held: somebody of it is, or of what comes after its first part may be.
    private func marksHolds(_ held: Set<[UInt8]>, _ first: [Tray]) -> Bool {
        if first.contains(where: { held.contains(Array($0.user.utf8)) }) { return true }
        guard sort == .name, first.count == Self.chunk, wanted > Self.chunk, let last = first.last else {
            return false
        }
        return held.contains { $0.starts(with: prefix.utf8) && last.user.utf8.lexicographicallyPrecedes($0) }
    }

    /// Trays in the order of names, some at a time.
    ///
    /// - Returns: the last name where the limit leaves some out.
    private func forEachChunk(
        _ reader: BlockingReader, limit: Int, _ body: ([Tray]) throws -> Void
    ) throws -> String? {
        var (last, rest) = (cursor, limit)
        while rest > 0 {
            let names = try reader.users(
                after: last, prefix: prefix, limit: min(Self.chunk, rest), asOf: moment.asOf
            ).elements
            guard let newLast = names.last else { return nil }
            (last, rest) = (newLast, rest - names.count)
            try body(try names.map { try reader.tray(of: $0, asOf: moment.asOf) })
        }
        let more = try reader.users(after: last, prefix: prefix, limit: 1, asOf: moment.asOf).elements
        return more.isEmpty ? nil : last
    }

    /// Those with most unread items, in the order of names where they have as many; and how many users there are.
    private func byUnread(_ reader: BlockingReader) throws -> (most: [Tray], all: Int) {
        var (most, all) = ([Tray](), 0)
        let limit = wanted
        func cut() {
            // The sort is stable, and names come in order.
            most.sort { $0.unread > $1.unread }
            most.removeLast(max(0, most.count - limit))
        }
        _ = try forEachChunk(reader, limit: .max) { trays in
            all += trays.count
            most += trays
            if most.count / 2 >= limit { cut() }
        }
        cut()
        return (most, all)
    }

    /// A narrow terminal has room for who is held or for what somebody has seen, and not for both.
    private static func showsSeenUpTo(_ marksHolds: Bool, on terminal: Terminal) -> Bool {
        !marksHolds || isWide(terminal)
    }

    private static func isWide(_ terminal: Terminal) -> Bool { terminal.columns >= 100 }

    private static func columns(_ marksHolds: Bool, on terminal: Terminal) -> [Column] {
        [.flexible("USER", minimum: 12), .whole("UNSEEN", .right), .whole("UNREAD", .right), .whole("TOTAL", .right)]
            + (showsSeenUpTo(marksHolds, on: terminal) ? [.whole("SEEN UP TO", .right)] : [])
            + [.whole("NEWEST", .right), .time("LAST SEEN")]
            + (marksHolds ? [.whole(isWide(terminal) ? "LEGAL HOLD" : "HOLD")] : [])
    }

    /// - Parameter held: who is on legal hold; nil where the list does not mark them.
    private static func row(_ tray: Tray, _ held: Set<[UInt8]>?, on terminal: Terminal) -> [Cell] {
        let style: Style = tray.unread > 0 ? .bold : .plain
        return [Cell(tray.user, style), Cell(tray.unseen), Cell(tray.unread, style), Cell(tray.total)]
            + (showsSeenUpTo(held != nil, on: terminal) ? [Cell(tray.seenUpTo)] : [])
            + [Cell(tray.newest), tray.seenAt.map { Cell($0) } ?? Cell("never", .dim)]
            + (held.map { [Cell($0.contains(Array(tray.user.utf8)) ? "held" : "")] } ?? [])
    }
}
