import ArgumentParser
@_spi(JSON) @_spi(Operations) import Traylog

struct RestoreCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Make a store from an archive of the log, an export or a backup.",
        discussion: """
            The log becomes the same to the byte; trays and counts are derived from it. The store must be missing or \
            empty. Every line is checked: the first one that is not as it was exported ends the command with exit \
            status 65 and its number. A store whose restore did not finish cannot be opened: repeat the command, or \
            delete the directory. Where the export has a gap ('traylog export --skip-damaged'), an event `lost` stands \
            in for each missing event, so that all others keep their numbers; what the missing ones did is missing, \
            too. The report counts apart what was damaged, erased and compacted, and changes of a broadcast that is missing. Blank lines are skipped but counted in line numbers.

            With --through the store becomes what it was at a moment: right after an event, or at a time. What is later \
            is not looked at.

            A directory is what 'traylog archive' wrote, or else a backup, or any store; for one that was compacted, \
            --archive must name its archives. Of an archive of the log every byte is checked. At the first one that is not as it was \
            written, or a missing file, the restore ends with what came before, names the place, and exits with 1. The store \
            is a copy of the archived one, and begins a history of its own with its next event. It notes the archive in 'archived-to', so that \
            its erasures reach it. Where an archive has \
            several histories, the one with the newest event is restored, or the one of --branch.

            EXAMPLES
              traylog restore trays.jsonl --store copy
              gzip -dc trays.jsonl.gz | traylog restore - --store copy
              traylog export | ssh host traylog restore - --store trays
              traylog restore backup --through '2026-03-01T09:00:00Z' --store before
              traylog restore trays.jsonl --through 41200 --store before
              traylog restore /mnt/archive --store trays
              traylog restore /mnt/archive --through '2026-03-01T09:00:00Z' --store before
            """)

    @OptionGroup var global: GlobalOptions

    @OptionGroup var archive: ArchiveOption

    @Argument(
        help: "Lines of an export, or - for standard input; or the directory of an archive or a backup.",
        completion: .file())
    var file: String

    @Option(
        help: ArgumentHelp(
            "As it was right after an event (a seq) or at a time: RFC 3339, a local date or time, 2h, yesterday.",
            valueName: "seq-or-time"))
    var through: Moment?

    @Option(help: ArgumentHelp("Which history of an archive, as 'restore' and file names have it.", valueName: "mark"))
    var branch: String?

    func run() throws {
        let isArchive = Descriptor.isDirectory(file) && Archives.holdLog(in: file)
        if branch != nil, !isArchive { throw ValidationError("'--branch' goes with an archive of the log.") }
        let report =
            try isArchive ? restoreArchive() : Descriptor.isDirectory(file) ? restoreStore() : restoreLines()
        try printing { output in
            if global.json {
                try output.json { $0.write(report) }
            } else {
                try printGaps(report, output)
                if let branch = report.branch {
                    let others = report.otherBranches.joined(separator: ", ")
                    try output.line("of the history \(branch); the archive has \(others), too (--branch)")
                }
            }
        }
        guard let damage = report.damage else { return }
        let errors = Output(.standardError)
        try errors.line("traylog: the restore ended with event \(report.head): \(VisibleText(damage).text)")
        try errors.flush()
        throw ExitCode(ExitStatus.difference.rawValue)
    }

    /// The extent, and what is missing, as the export had said it.
    private func printGaps(_ report: RestoreReport, _ output: Output) throws {
        let gaps = [
            ("lost", report.lost), ("erased", report.erased), ("compacted", report.compacted),
            ("orphaned", report.orphaned),
        ].filter { !$0.1.isEmpty }
        let words = gaps.enumerated().map { index, gap in
            ", \(gap.1.eventCount.grouped)\(index == 0 ? " of them" : "") \(gap.0)"
        }
        try output.line("restored: \(report.events.counted("event")), head \(report.head)\(words.joined())")
        for gap in report.lost { try output.line("lost: \(gap.eventWords)") }
        for gap in report.orphaned { try output.line("orphaned: \(gap.eventWords), of a broadcast that is missing") }
    }

    private func restoreArchive() throws -> RestoreReport {
        if archive.directory != nil {
            throw ValidationError("'--archive' goes with a backup: an archive of the log has all events.")
        }
        var reading = ProgressBar("restore", unit: "events")
        var folding = ProgressBar("fold", unit: "events")
        defer {
            reading.clear()
            folding.clear()
        }
        return try LogRestore.run(archive: file, to: directory, through: through, branch: branch) { part, done, total in
            let fraction = total > 0 ? min(Double(done) / Double(total), 1) : nil
            switch part {
            case .restore: reading.update(count: done, fraction: fraction)
            case .fold:
                reading.clear()
                folding.update(count: done, fraction: fraction)
            }
        }
    }

    private func restoreLines() throws -> RestoreReport {
        if archive.directory != nil {
            throw ValidationError("'--archive' goes with a backup: an export already has what it was made with.")
        }
        // Opened before the store, which is not created when there is nothing to read.
        let source = file == "-" ? Descriptor.standardInput : try Descriptor.reading(file)
        var restorer = try Restorer(from: source, to: directory, through: through, isJSON: global.json)
        return try restorer.run()
    }

    private func restoreStore() throws -> RestoreReport {
        let reader = try StoreReader.open(file)
        defer { reader.blocking.close() }
        var export = try LogExport(of: reader.blocking, including: try archive.open(for: reader.blocking))
        let restore = try LogRestore(directory: directory, through: through)
        defer { restore.close() }
        var progress = ProgressBar("restore", unit: "events")
        defer { progress.clear() }
        while !restore.isComplete, let lines = try export.take() {
            for line in lines.bytes.split(separator: UInt8(ascii: "\n")) { try restore.add(line.span) }
            let done = UInt64(lines.last)
            progress.update(count: done, fraction: Double(done) / Double(max(UInt64(export.last), 1)))
        }
        return try restore.finish { _, _ in }
    }
}
