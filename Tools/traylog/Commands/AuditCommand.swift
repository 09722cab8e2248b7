import ArgumentParser
@_spi(Operations) @_spi(JSON) import Traylog

struct AuditCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Report who did what to a user's tray, and what it changed.",
        discussion: """
            Every event that touched the tray, oldest first: the user's own events, and events of topics that reached \
            the user. Each with both times, actor, device, and the unread and unseen items before and after it. The \
            tree head says which log the report is about.

            With --json the first line is about the report, and each further line about one event, with the proof that \
            it is in the tree of the tree head ('traylog help prove').

            --html writes pages for browsers, to read and to print. A report of more than 600 events (2,000 with \
            --no-proofs) continues in FILE-2, FILE-3 and so on; the command prints what it wrote. It replaces FILE and \
            pages of an earlier report, and refuses to replace any other file beside it.

            --complete prints the whole history as JSON lines, so that nothing can be left out unnoticed: every event of \
            the user from the first on, and the events of all topics that the user joined, with their proofs and what \
            they say. It first appends 'audited', which says who asked (--actor, --device) and what for (--purpose). \
            'traylog help check' says how to check it. While a server has the store open, the command asks it for that event.

            Where a checkpoint that a quorum of witnesses has seen (checkpoint.witnessed beside the store) has all of the report's \
            events, the report has that checkpoint with it: 'traylog check FILE --witness-policy POLICY' needs nothing else. With \
            --witnessed the report ends at the newest such checkpoint; --complete waits up to two minutes for one.

            With --archive the report also has the events that compactions removed from the log, with their effects \
            and proofs; all archives must be there.

            EXAMPLES
              traylog audit alice
              traylog audit alice --from 2026-01-01 --to 2026-02-01 --html alice.html
              traylog audit alice --html alice.html --sign audit.key
              traylog audit alice --as-of 1200 --trays --json
              traylog audit alice --archive old --html alice.html
              traylog audit alice --json --disclose > alice.jsonl
              traylog audit alice --witnessed --json > alice.jsonl
              traylog audit alice --complete --actor eve --purpose complaint > alice.jsonl
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    @Option(help: ArgumentHelp("The first event, or the earliest time.", valueName: "seq-or-time"))
    var from: Moment?

    @Option(help: ArgumentHelp("The last event, or the latest time.", valueName: "seq-or-time"))
    var to: Moment?

    @OptionGroup var moment: MomentOption
    @OptionGroup var archive: ArchiveOption
    @OptionGroup var witnessed: WitnessedOption

    @Flag(help: "The whole tray after each event (with --json, --html).")
    var trays = false

    @Flag(help: "Leave out the proofs (of --json, --html), which are most of the bytes.")
    var noProofs = false

    @Flag(
        help: "With --json: salt and payload of each event, so that its content can be checked ('traylog help check').")
    var disclose = false

    @Option(help: ArgumentHelp("Write the report as a page for browsers.", valueName: "file"), completion: .file())
    var html: String?

    @Option(
        help: ArgumentHelp(
            "With --html: sign the tree head on the page with the private key in this file.", valueName: "keyfile"),
        completion: .file())
    var sign: String?

    @Flag(help: "Append 'audited', and print all of the history with proofs, for 'check --complete'.")
    var complete = false

    @Option(help: "With --complete: who reads the history.")
    var actor: String?

    @Option(help: "With --complete: from which device.")
    var device: String?

    @Option(help: "With --complete: what for.")
    var purpose: String?

    func validate() throws {
        try requireStore()
        try validateComplete()
        if sign != nil, html == nil { throw ValidationError("'--sign' goes with '--html'.") }
        if disclose, !global.json || noProofs { throw ValidationError("'--disclose' goes with '--json' and proofs.") }
        guard html == nil || !global.json else { throw ValidationError("'--html' and '--json' cannot be combined.") }
    }

    func run() throws {
        if complete { return try writeComplete() }
        try recordReading(of: user)
        try withReader { reader in
            if !global.json { try noteIfUnknown(user, reader) }
            let (archives, asOf) = (try archive.open(for: reader), try asOf(moment.asOf, witnessed))
            let report =
                try archives.map {
                    try reader.auditReport(of: user, from: from, to: to, asOf: asOf, withTrays: trays, including: $0)
                } ?? reader.auditReport(of: user, from: from, to: to, asOf: asOf, withTrays: trays)
            let seen = try self.seen(report.treeHead, reader, witnessed).head
            if let html { return try writePage(html, report, seen, reader) }
            var chunks = AuditChunks(
                reader: reader, report: report, withProofs: !noProofs && global.json, disclosed: disclose)
            // On a terminal the lines themselves show how far it is.
            var progress = Descriptor.standardOutput.isTerminal ? nil : ProgressBar("audit", unit: "events")
            defer { progress?.clear() }
            var count = 0
            try printing { output in
                if global.json {
                    var chain = LineChain()
                    try output.json(&chain) { $0.write(report, isDisclosed: disclose, seen: seen) }
                    while let entries = try chunks.take() {
                        count += entries.count
                        progress?.update(
                            count: UInt64(count), fraction: Double(count) / Double(report.steps.count))
                        for entry in entries { try output.json(&chain) { $0.write(entry) } }
                    }
                    if disclose { try output.line(chain) }
                } else {
                    let statistics = try reader.statistics()
                    var text = AuditText(
                        report, reader.knownHold(of: user), floor: statistics.floor, dropped: statistics.dropped,
                        archive: archive.directory,
                        on: Terminal(.standardOutput))
                    try output.lines(text.heading)
                    while let entries = try chunks.take() { try output.lines(text.lines(entries)) }
                }
            }
        }
    }

    /// Where the pages go: each is written under its own name, beside the first one.
    private func pageNames(_ path: String, _ count: Int) throws -> [String] {
        let names = (0..<count).map { AuditPage.name(path, $0) }
        for name in names.dropFirst() where FileText.exists(name) && !AuditPage.isPage(name) {
            throw Problem(
                occupied: name,
                advice:
                    "page \(names.firstIndex(of: name).map { $0 + 1 } ?? 2) of \(count) goes there, and it is no page "
                    + "of an audit report. Remove it, or name another file with '--html'. Nothing was written.")
        }
        return names
    }

    /// Says what was written, and what an earlier, longer report left behind.
    private func report(written names: [String]) throws {
        guard let first = names.first, first != "-" else { return }
        let bytes = names.reduce(UInt64(0)) { $0 + (FileText.size($1) ?? 0) }
        func shown(_ name: String) -> String { VisibleText(name).text }
        try printing { output in
            if names.count == 1 {
                try output.line("wrote 1 page, \(bytes.asBytes): \(shown(first))")
            } else {
                try output.line(
                    "wrote \(names.count.grouped) pages, \(bytes.asBytes): \(shown(first)), "
                        + "\(shown(names[1]))\(names.count > 2 ? " … \(shown(names[names.count - 1]))" : "")")
                let fewer = noProofs ? "--from and --to" : "--no-proofs, or --from and --to,"
                try output.line("the first page links to the others: keep them together; \(fewer) make fewer")
            }
            let next = AuditPage.name(first, names.count)
            if FileText.exists(next), AuditPage.isPage(next) {
                try output.line("note: \(shown(next)) is a page of an earlier report, and not of this one")
            }
        }
    }

    /// Reads the events twice, because chart and totals come before them and a long report does not fit into memory.
    ///
    /// A long report becomes several pages of a bounded size: `alice.html`, `alice-2.html` and so on. What is no regular
    /// file gets one page.
    private func writePage(
        _ path: String, _ report: AuditReport, _ seen: KeptTreeHead, _ reader: BlockingReader
    ) throws {
        var points: [UnreadChart.Point] = []
        var occurred: [Int64] = []
        var totals = AuditTotals()
        var first = AuditChunks(reader: reader, report: report, withProofs: false)
        var progress = ProgressBar("audit", unit: "events")
        defer { progress.clear() }
        while let entries = try first.take() {
            for entry in entries {
                let after = entry.step.after
                points.append((entry.event.recordedAt.milliseconds, after.unread, after.unseen))
                if let time = entry.event.occurredAt { occurred.append(max(time.milliseconds, occurred.last ?? .min)) }
                totals.add(entry.event)
            }
            progress.update(count: UInt64(points.count), fraction: Double(points.count) / Double(report.steps.count))
        }
        // After an import all was recorded at once, and when it happened says more.
        let isByOccurrence = occurred.count == points.count
        if isByOccurrence { for index in points.indices { points[index].time = occurred[index] } }
        let isOnePage = path == "-" || FileText.isDevice(path)
        let rows = isOnePage ? max(report.steps.count, 1) : AuditPage.rows(hasProofs: !noProofs, hasTrays: trays)
        let pages = max(1, (report.steps.count + rows - 1) / rows)
        let statistics = try reader.statistics()
        let key = try sign.map { try KeyFile.privateKey($0) }
        let signed = try key.map { try KeyFile.checkpoint(of: report.treeHead, with: $0, from: sign ?? "") }
        // A page has no room for the way to a later one.
        let checkpoint = signed ?? (seen.path.isEmpty ? seen.note?.text : nil)
        let names = isOnePage ? [path] : try pageNames(path, pages)
        // A page for nobody would look as if all were well.
        let isKnown = try !report.steps.isEmpty || reader.isKnown(user)
        // Below the floor nobody knows how the items stood.
        let start = report.from - 1
        let arrivals =
            try start < statistics.floor && statistics.floor > .zero
            ? nil : reader.arrivals(of: user, after: start, through: report.through)
        let hold = reader.knownHold(of: user)
        for number in 0..<pages {
            let range = number * rows..<min((number + 1) * rows, report.steps.count)
            let page = AuditPage(
                report: report, hold: hold, hasProofs: !noProofs, totals: totals, store: directory,
                floor: statistics.floor, dropped: statistics.dropped, archive: archive.directory,
                checkpoint: checkpoint, number: number,
                names: names, arrivals: arrivals, isKnown: isKnown, isByOccurrence: isByOccurrence)
            var chunks = AuditChunks(reader: reader, report: report, withProofs: !noProofs, range: range)
            try FileText.replace(names[number]) { output in
                try page.write(to: output, points: points) { try chunks.take() }
            }
            progress.update(count: UInt64(range.upperBound), fraction: Double(number + 1) / Double(pages))
        }
        progress.clear()
        if !isOnePage { try self.report(written: names) }
    }
}
