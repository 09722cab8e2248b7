import ArgumentParser
import Traylog

struct AuditCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Report who did what to a user's tray, and what it changed.",
        discussion: """
            Every event that touched the tray, oldest first: the user's own, and those of topics that reached the \
            user. Each with both times, actor, device, and the unread and unseen items before and after it. The tree \
            head says which log the report is about.

            With --json the first line is about the report, and each further line about one event, with the proof \
            that it is in the tree of the tree head ('traylog help prove'). --html writes one page that needs nothing \
            else, with a chart of the unread items over time, to read and to print.

            EXAMPLES
              traylog audit alice
              traylog audit alice --from 2026-01-01 --to 2026-02-01 --html alice.html
              traylog audit alice --as-of 1200 --trays --json
              traylog audit alice --json --disclose > alice.jsonl
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.")
    var user: String

    @Option(help: ArgumentHelp("The first event, or the time from which on.", valueName: "seq-or-time"))
    var from: Moment?

    @Option(help: ArgumentHelp("The last event, or the time up to which.", valueName: "seq-or-time"))
    var to: Moment?

    @OptionGroup var moment: MomentOption

    @Flag(help: "The whole tray after each event (with --json, --html).")
    var trays = false

    @Flag(help: "Leave out the proofs (of --json, --html), which are most of the bytes.")
    var noProofs = false

    @Flag(
        help: "With --json: salt and payload of each event, so that its content can be checked ('traylog help check').")
    var disclose = false

    @Option(help: ArgumentHelp("Write the report as a page for browsers.", valueName: "file"), completion: .file())
    var html: String?

    func validate() throws {
        try requireStore()
        if disclose, !global.json || noProofs { throw ValidationError("'--disclose' goes with '--json' and proofs.") }
        guard html == nil || !global.json else { throw ValidationError("'--html' and '--json' exclude each other.") }
    }

    func run() throws {
        try withReader { reader in
            if !global.json { try noteIfUnknown(user, reader) }
            let report = try reader.audit(of: user, from: from, to: to, asOf: moment.asOf, withTrays: trays)
            if let html { return try writePage(html, report, reader) }
            var chunks = AuditChunks(reader: reader, report: report, withProofs: !noProofs && global.json)
            try printing { output in
                if global.json {
                    var chain = LineChain()
                    try output.json(&chain) { $0.write(report, isDisclosed: disclose) }
                    while let entries = try chunks.take() {
                        for var entry in entries {
                            if disclose { entry.disclosure = try reader.disclosure(of: entry.event.seq) }
                            try output.json(&chain) { $0.write(entry) }
                        }
                    }
                    if disclose { try output.line(chain) }
                } else {
                    var text = AuditText(report, on: Terminal(.standardOutput))
                    try output.lines(text.heading)
                    while let entries = try chunks.take() { try output.lines(text.lines(entries)) }
                }
            }
        }
    }

    /// Reads the events twice, because the chart comes before them and a long report does not fit into memory.
    private func writePage(_ path: String, _ report: AuditReport, _ reader: BlockingReader) throws {
        var points: [(time: Int64, unread: Int)] = []
        var times = AuditChunks(reader: reader, report: report, withProofs: false)
        while let entries = try times.take() {
            for entry in entries { points.append((entry.event.recordedAt.milliseconds, entry.step.after.unread)) }
        }
        var chunks = AuditChunks(reader: reader, report: report, withProofs: !noProofs)
        try FileText.replace(path) { output in
            try AuditPage(report: report, hasProofs: !noProofs).write(to: output, points: points) { try chunks.take() }
        }
    }
}
