@_spi(Operations) import Traylog

/// A user's timeline for people.
struct AuditText {
    private let report: AuditReport
    /// The event that holds the user.
    private let hold: Event?
    private let floor: Seq
    private let dropped: UInt64
    private let archive: String?
    private let terminal: Terminal
    private var table: Table

    /// A narrow terminal has room for one time, and for what happened in one column.
    private static func isNarrow(_ terminal: Terminal) -> Bool { terminal.columns < 110 }

    private static func columns(on terminal: Terminal) -> [Column] {
        let middle: [Column] =
            isNarrow(terminal)
            ? [.flexible("ACTOR"), .main("WHAT")]
            : [
                .whole("OCCURRED"), .flexible("ACTOR"), .flexible("DEVICE"), .whole("KIND"),
                .main("WHAT"),
            ]
        return [.whole("SEQ", .right), .time("RECORDED")] + middle + [
            .whole("UNREAD", .right), .whole("UNSEEN", .right),
        ]
    }

    /// - Parameters:
    ///   - dropped: how many events left the log.
    ///   - archive: the directory of the archives that were read.
    init(
        _ report: AuditReport, _ hold: Event?, floor: Seq, dropped: UInt64, archive: String?, on terminal: Terminal
    ) {
        (self.report, self.hold) = (report, hold)
        (self.floor, self.dropped, self.archive) = (floor, dropped, archive)
        self.terminal = terminal
        table = Table(Self.columns(on: terminal), on: terminal)
    }

    var heading: [String] {
        let tray = report.tray
        var facts: [(String, Cell)] = [("user", Cell(report.user, .bold))]
        if let hold { facts.append(hold.holdFact) }
        facts += [
            ("events", Cell("\(report.from) to \(report.through) of the log")),
            (
                "before",
                Cell(Self.words(report.before.unread, report.before.unseen, report.before.total))
            ),
            ("after", Cell(Self.words(tray.unread, tray.unseen, tray.total))),
            ("tree size", Cell("\(report.treeHead.size)")), ("root hash", Cell(report.treeHead.root.hex)),
        ]
        if floor > 0 {
            let included = archive.map { "; included from \($0)" } ?? ""
            facts.append(
                ("left the log", Cell("\(dropped.counted("event")) below the floor, which is \(floor)\(included)")))
        }
        return FactsText(facts).lines(on: terminal) + [""]
    }

    private static func words(_ unread: Int, _ unseen: Int, _ total: Int) -> String {
        "\(unread.grouped) unread, \(unseen.grouped) unseen, \(total.grouped) in all"
    }

    mutating func lines(_ entries: [AuditEntry]) -> [String] {
        table.lines(
            entries.map { entry in
                let (event, step) = (entry.event, entry.step)
                let middle =
                    Self.isNarrow(terminal)
                    ? [
                        Cell(event.shownActor),
                        Cell(event.words.isEmpty ? event.kind.rawValue : "\(event.kind.rawValue) · \(event.words)"),
                    ]
                    : [
                        Cell(event.occurredAt), Cell(event.shownActor), Cell(event.device), Cell(event.kind.rawValue),
                        Cell(event.words),
                    ]
                return [Cell(event.seq), Cell(event.recordedAt)] + middle + [
                    Cell(step.before.unread.change(to: step.after.unread)),
                    Cell(step.before.unseen.change(to: step.after.unseen)),
                ]
            })
    }
}

extension BinaryInteger {
    /// `1,005 → 0`, or only the number where nothing changes.
    func change(to after: Self) -> String { self == after ? grouped : "\(grouped) → \(after.grouped)" }
}
