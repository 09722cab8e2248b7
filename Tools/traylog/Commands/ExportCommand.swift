import ArgumentParser
import Traylog

struct ExportCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Print all events as lines of JSON, with everything that a restore needs.",
        discussion: """
            One event a line, in the order of the log, as of the start of the command. Each has the members that \
            'log --json' shows, and "stored": the bytes of the event, in Base64. Several exports that follow on each \
            other (--from) can be put together. --limit and --newest-first choose lines that cannot be restored by \
            themselves. Of a store that was compacted, only an export with --archive can be \
            restored: it has the events that left the log, too, and fails when one is missing.

            EXAMPLES
              traylog export > trays.jsonl
              traylog export | gzip > trays.jsonl.gz
              traylog export --from 100001 >> trays.jsonl
              traylog export --archive old > everything.jsonl
              traylog export | jq -r 'select(.kind == "notified") | .title'
              traylog export --actor bob --since yesterday > bob.jsonl
              traylog export --newest-first --limit 100 > last.jsonl
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var range: SeqRange
    @OptionGroup var archive: ArchiveOption
    @OptionGroup var search: SearchOptions

    @Flag(help: "Go on behind events that are damaged; each gap is named, and has lines in their place.")
    var skipDamaged = false

    func validate() throws {
        try requireStore()
        if skipDamaged, isChosen {
            throw ValidationError("'--skip-damaged' goes without '--limit' and '--newest-first'.")
        }
    }

    /// Whether lines are chosen one by one.
    private var isChosen: Bool { search.newestFirst || search.limit != nil }

    func run() throws {
        try withReader { reader in
            if isChosen { return try printChosen(reader) }
            let archives = try archive.open(for: reader)
            let (from, to) = try range.seqs(reader, archives)
            var export = try LogExport(of: reader, from: from, through: to, including: archives)
            export.skipsDamage = skipDamaged
            if search.isSet { export.filter = try search.exportFilter() }
            // On a terminal the lines themselves show how far it is.
            var progress = Descriptor.standardOutput.isTerminal ? nil : ProgressBar("export", unit: "bytes")
            defer { progress?.clear() }
            let (first, last) = (max(from.rawValue, 1), export.last.rawValue)
            var written: UInt64 = 0
            while let lines = try export.take() {
                try Descriptor.standardOutput.write(lines.bytes)
                written += UInt64(lines.bytes.count)
                let done = lines.last.rawValue + 1 - first
                progress?.update(count: written, fraction: Double(done) / Double(last + 1 - first))
            }
            progress?.clear()
            guard !export.lost.isEmpty else { return }
            let output = Output(.standardError)
            for gap in export.lost {
                let events =
                    gap.count == 1 ? "event \(gap.lowerBound)" : "events \(gap.lowerBound) to \(gap.upperBound)"
                try output.line("traylog: lost: \(events) could not be read")
            }
            try output.flush()
            throw ExitCode(ExitStatus.difference.rawValue)
        }
    }

    /// Prints the lines of the events that a search finds, in its order.
    private func printChosen(_ reader: BlockingReader) throws {
        let (archives, head) = (try archive.open(for: reader), try reader.head())
        let (first, last) = try range.seqs(reader, archives)
        var found = search.search(
            reader, user: nil, kinds: [], from: first, through: min(last ?? head, head), archives)
        while let events = try found.take() {
            for event in events {
                // Up to the head, so that the line says of which log it is, and no restore takes it for a whole one.
                var export = try LogExport(of: reader, from: event.seq, through: head, including: archives)
                export.eventsAtOnce = 1
                if let line = try export.take() { try Descriptor.standardOutput.write(line.bytes) }
            }
        }
    }
}
