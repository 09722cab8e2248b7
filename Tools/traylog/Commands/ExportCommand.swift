import ArgumentParser
@_spi(Operations) import Traylog

struct ExportCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Print all events as lines of JSON, with everything that a restore needs.",
        discussion: """
            One event a line, in the order of the log, as of the start of the command. Each has the members that 'log \
            --json' shows, and "stored": the bytes of the event, in Base64. Exports of adjoining ranges (--from) can \
            be concatenated. With --limit or --newest-first the lines alone cannot be restored. An export of a \
            compacted store can be restored only with --archive: it then has the events that left the log, too, and \
            fails when one is missing.

            --skip-damaged is for a store without a backup, even one that cannot be opened any more. It searches all \
            pages for events. Each lost event, and each that a compaction or an erasure removed, gets a line of its \
            own, so that 'traylog restore' makes a store of what is left. Standard error says which are lost, and how \
            many were erased or compacted: 'restore' says the same numbers. Exit status 1 when anything was lost.

            EXAMPLES
              traylog export > trays.jsonl
              traylog export | gzip > trays.jsonl.gz
              traylog export --from 100001 >> trays.jsonl
              traylog export --archive old > everything.jsonl
              traylog export | jq -r 'select(.kind == "notified") | .title'
              traylog export --actor bob --since yesterday > bob.jsonl
              traylog export --newest-first --limit 100 > last.jsonl
              traylog export --skip-damaged | traylog restore - --store salvaged
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var range: SeqRange
    @OptionGroup var archive: ArchiveOption
    @OptionGroup var search: SearchOptions

    @Flag(help: "Skip damaged events; each gap is named, and has lines in their place.")
    var skipDamaged = false

    func validate() throws {
        try requireStore()
        if skipDamaged, isChosen {
            throw ValidationError("'--skip-damaged' cannot be combined with '--limit' or '--newest-first'.")
        }
    }

    /// Whether lines are chosen one by one.
    private var isChosen: Bool { search.newestFirst || search.limit != nil }

    func run() throws {
        do {
            try withReader { reader in
                if isChosen { return try printChosen(reader) }
                let archives = try archive.open(for: reader)
                let (from, to) = try range.seqs(reader, archives)
                try write(try LogExport(of: reader, from: from, through: to, including: archives), from: from)
            }
        } catch TraylogError.failed(let failure) where skipDamaged && failure.isDamage {
            try salvage(failure)
        }
    }

    /// Exports what the pages of a store have that cannot be opened.
    private func salvage(_ failure: StoreFailure) throws {
        guard range.from.isAnEvent, range.to.isAnEvent else { throw TraylogError.failed(failure) }
        try note("the store cannot be opened, so its pages are searched for events: \(failure.message)")
        let (from, to) = (range.from.event ?? 1, range.to.event)
        try write(try LogExport(salvaging: directory, from: from, through: to), from: from)
    }

    private func write(_ export: LogExport, from: Seq) throws {
        var export = export
        export.skipsDamage = skipDamaged
        if search.isSet { export.filter = try search.exportFilter() }
        // On a terminal the lines themselves show how far it is.
        var progress = Descriptor.standardOutput.isTerminal ? nil : ProgressBar("export", unit: "bytes")
        defer { progress?.clear() }
        let all = export.last.events(after: from - 1)
        var written: UInt64 = 0
        while let lines = try export.take() {
            try Descriptor.standardOutput.write(lines.bytes)
            written += UInt64(lines.bytes.count)
            progress?.update(count: written, fraction: Double(lines.last.events(after: from - 1)) / Double(max(all, 1)))
        }
        progress?.clear()
        for gap in export.lost { try note("lost: \(gap.eventWords) could not be read") }
        for (reason, gaps, words) in [
            ("erased", export.erased, "without content, because the people were erased"),
            ("compacted", export.compacted, "that left the log with a compaction"),
        ] where !search.isSet && !gaps.isEmpty {
            try note("\(reason): \(gaps.eventCount.counted("event")) \(words); a restore keeps only the numbers")
        }
        guard !export.lost.isEmpty else { return }
        throw ExitCode(ExitStatus.difference.rawValue)
    }

    private func note(_ text: String) throws {
        let output = Output(.standardError)
        try output.line("traylog: \(VisibleText(text).text)")
        try output.flush()
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

extension StoreFailure {
    /// Whether bytes on disk are not those that were written.
    fileprivate var isDamage: Bool { code == .damaged || code == .foreignFile }
}

extension [ClosedRange<UInt64>] {
    /// How many events they have.
    var eventCount: UInt64 { reduce(0) { $0 + UInt64($1.count) } }
}

extension ClosedRange<UInt64> {
    /// `event 5`, `events 5 to 9`.
    var eventWords: String { count == 1 ? "event \(lowerBound)" : "events \(lowerBound) to \(upperBound)" }
}

extension Moment? {
    fileprivate var event: Seq? { if case .seq(let seq)? = self { seq } else { nil } }
    fileprivate var isAnEvent: Bool { self == nil || event != nil }
}
