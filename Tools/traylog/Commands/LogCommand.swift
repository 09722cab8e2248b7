import ArgumentParser
@_spi(Operations) import Traylog

struct LogCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show events of the log, oldest first.",
        discussion: """
            With --json one event a line. With --follow it goes on with each event as soon as any process has \
            committed it, until it is interrupted. With --archive it includes the events that compactions removed; \
            without, a note on standard error says where they may be missing.

            EXAMPLES
              traylog log
              traylog log --from 1000 --to 2000
              traylog log --from 2h
              traylog log --user alice --kind marked --kind allMarked --json
              traylog log --archive old --to 1000
              traylog log --newest-first --limit 20 --actor bob --since yesterday
              traylog log --text invoice --device phone
              traylog log --follow --kind notified --json | jq .title
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var range: SeqRange
    @OptionGroup var moment: MomentOption
    @OptionGroup var archive: ArchiveOption

    @OptionGroup var form: CSVOption

    @Option(help: "Only this user's events.", completion: .user)
    var user: String?

    @Option(help: "Only events of this kind; may be repeated.")
    var kind: [Word<EventKind>] = []

    @OptionGroup var search: SearchOptions

    @Flag(help: "Go on with new events.")
    var follow = false

    func validate() throws {
        try requireStore()
        try form.check(global)
        if follow, form.csv {
            throw ValidationError("'--follow' cannot be combined with '--csv'; '--json' prints lines as they come.")
        }
        if follow, range.to != nil { throw ValidationError("'--follow' has no end, so '--to' cannot go with it.") }
        if follow, search.isSet { throw ValidationError("'--follow' goes with '--user' and '--kind' only.") }
        if follow, moment.asOf != nil { throw ValidationError("'--follow' and '--as-of' cannot be combined.") }
    }

    func run() throws {
        if let user { try recordReading(of: user) }
        let (kinds, isJSON) = (Set(kind.map(\.value)), global.json)
        try withStoreReader { store in
            let reader = store.blocking
            if !search.isOfNewest {
                try noteIfCompacted(
                    from: range.from ?? search.since ?? .seq(1), asOf: moment.asOf, reader, archive: archive)
            }
            if search.isSet { return try printSearch(reader, kinds) }
            let archives = try archive.open(for: reader)
            let (first, last) = try range.seqs(reader, archives)
            let selection = EventSelection(from: first, to: last, user: user, asOf: moment.asOf, archives: archives)
            guard follow else {
                return try printing { output in
                    var lines = EventLines(output, kinds: kinds, isJSON: isJSON, isCSV: form.csv)
                    _ = try selection.write(from: reader, to: &lines)
                    try lines.finish()
                }
            }
            try EndlessCall.run(writingTo: .standardOutput) {
                var lines = EventLines(Output(.standardOutput), kinds: kinds, isJSON: isJSON, isEndless: true)
                try await selection.follow(store, to: &lines)
            }
        }
    }

    private func printSearch(_ reader: BlockingReader, _ kinds: Set<EventKind>) throws {
        let head = try moment.asOf.map { try reader.seq(of: $0) } ?? reader.head()
        let archives = try archive.open(for: reader)
        let (first, last) = try range.seqs(reader, archives)
        var found = search.search(
            reader, user: user, kinds: kinds, from: first, through: min(last ?? head, head), archives)
        try printing { output in
            var lines = EventLines(output, kinds: [], isJSON: global.json, isCSV: form.csv)
            while let events = try found.take() { try lines.write(events) }
            try lines.finish(more: found.more)
        }
    }
}
