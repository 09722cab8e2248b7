import ArgumentParser
@_spi(Operations) @_spi(JSON) @_spi(Wire) import Traylog

struct CompactCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Remove events that no tray needs any more from the log, and shrink the file.",
        discussion: """
            The floor moves up to the given event, or to the newest event that a query of the given time sees. Events \
            below it leave the log, except events of items that somebody can still see. Every answer from the floor on \
            stays the same, which is checked before anything leaves; queries of earlier moments are refused from then \
            on. Who marked an item, and when, leaves with the mark's event: 'audience --list' and 'show' then leave it \
            out, while counts and lists stay as they are. With --archive the events are first written to a file, which \
            these commands, 'history', 'log' and 'export' can include. Without it they are deleted, which needs --yes \
            on a terminal.

            The store is written to a new file, which then replaces the old one: killed at any moment, the store is as \
            it was before or after. That needs room on the disk for the events that stay. Others may read meanwhile; a \
            program that has the store open for writing compacts it itself.

            Each event that leaves still takes some bytes, and each tray is also kept as it was at the floor. If the file \
            would become larger for that, nothing is changed, and the command says so with both sizes and exits with 1; \
            --even-if-larger compacts it all the same.

            What is still in somebody's tray never leaves by itself. With --retain, items of a category that are older \
            than so many days are first retracted (actor 'retention'), except those of held users; they leave the log \
            with the first compaction whose floor is beyond that.

            EXAMPLES
              traylog compact --keep-days 90 --archive /var/lib/trays/archive
              traylog compact --before 2026-01-01T00:00:00Z --dry-run
              traylog compact --before 120000 --yes --json
              traylog compact --keep-days 90 --retain promotion=30 --retain chat=365 --yes
            """)

    @OptionGroup var global: GlobalOptions

    @Option(
        help: ArgumentHelp("The floor: an event (a seq), or a time (RFC 3339).", valueName: "seq-or-time"))
    var before: Moment?

    @Option(
        help: ArgumentHelp("Keep this many days of history (instead of --before).", valueName: "n"))
    var keepDays: WireNumber?

    @Option(
        help: ArgumentHelp("Archive what leaves in a file in this directory.", valueName: "dir"), completion: .directory
    )
    var archive: String?

    @Option(
        help: ArgumentHelp(
            "Retract items of a category that are older than so many days; may be repeated.",
            valueName: "category=days"))
    var retain: [Retention] = []

    @Option(help: "Who asks for it.")
    var actor: String?

    @Flag(help: "Confirm that events leave without an archive, permanently.")
    var yes = false

    @Flag(help: "Compact even if the file becomes larger.")
    var evenIfLarger = false

    @Flag(help: "Only say what would leave.")
    var dryRun = false

    func validate() throws {
        try requireStore()
        guard (before == nil) != (keepDays == nil) else {
            throw ValidationError("Give either '--before <seq-or-time>' or '--keep-days <n>'.")
        }
        _ = try days
        // A script has decided; a person at a terminal may not know.
        guard archive != nil || dryRun || yes || !Descriptor.standardInput.isTerminal else {
            throw ValidationError(
                "Without '--archive <dir>' the events are deleted permanently. To go ahead, add '--yes'.")
        }
    }

    private var days: Int? { get throws { try keepDays?.of("--keep-days", within: 0...Retention.mostDays) } }

    func run() throws {
        // There is nothing to compact in a store that does not exist.
        try withReader { _ in }
        let moment = try before ?? .daysAgo(days ?? 0)
        var retracted: [(category: String, count: UInt64)] = []
        var progress = ProgressBar(dryRun ? "compact (dry run)" : "compact", unit: "events")
        let result = Result { () throws(TraylogError) in
            try writing { store throws(TraylogError) in
                let run = RetentionRun(store: store, actor: actor ?? RetentionRun.actor, isDryRun: dryRun)
                for rule in retain { retracted.append((rule.category, try run.run(rule))) }
                return try store.compact(
                    before: moment, archive: archive, isDryRun: dryRun, onlyIfSmaller: !evenIfLarger, actor: actor
                ) { done, total in
                    guard total > 0 else { return }
                    progress.update(count: done, fraction: Double(done) / Double(total))
                }
            }
        }
        progress.clear()
        let report = try result.get()
        try printing { output in
            if global.json {
                try output.json { $0.write(report, retracted: retracted) }
            } else {
                for (category, count) in retracted {
                    try output.line(
                        "\(dryRun ? "would take back" : "taken back"): \(count.counted("item")) of \(VisibleText(category).text)"
                    )
                }
                try output.lines(report.words)
                if report.isGivenUp {
                    try output.line("nothing was changed; '--even-if-larger' compacts it all the same")
                }
            }
        }
        if report.isGivenUp { throw ExitCode(ExitStatus.difference.rawValue) }
    }
}

extension CompactionReport {
    fileprivate var words: [String] {
        let isDone = !isDryRun && !isGivenUp
        var lines = [
            "\(isDone ? "dropped" : "would drop"): \(dropped.counted("event")) below the floor, which is \(floor)"
        ]
        for (kind, count) in kinds.sorted(by: { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }) {
            lines.append("  \(count.grouped) \(kind.rawValue)")
        }
        lines.append("file: \(bytesBefore.asBytes) before, \(bytesAfter.asBytes) after")
        for table in tables {
            let reason = table.bytesAfter > table.bytesBefore ? Self.reasonsToGrow[table.name] : nil
            lines.append(
                "  \(table.name): \(table.bytesBefore.asBytes) before, \(table.bytesAfter.asBytes) after"
                    + (reason.map { " (\($0))" } ?? ""))
        }
        lines.append("  free pages: \(freeBytesBefore.asBytes) before, \(freeBytesAfter.asBytes) after")
        if let archive { lines.append("archive: \(VisibleText(archive).text)") }
        if !isDone || dropped == 0, bytesAfter >= bytesBefore {
            let change =
                bytesAfter == bytesBefore ? "as large as before" : "\((bytesAfter - bytesBefore).asBytes) larger"
            lines.append(isDone ? "the file is \(change)" : "not worth it: the file would be \(change)")
        }
        return lines
    }

    private static let reasonsToGrow = [
        "bases": "with each tray as it was at the floor",
        "tree": "with the hash of each event that left, for proofs",
        "fingerprints": "with the key of each event that left, so that it is not accepted again",
    ]
}
