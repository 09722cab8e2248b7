import ArgumentParser
import Traylog

struct LogCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show events of the log, oldest first.",
        discussion: """
            With --json one event a line. With --follow it goes on with each event as soon as it is committed, by \
            whatever process, until it is interrupted. With --archive also the events that compactions took out of it.

            EXAMPLES
              traylog log
              traylog log --from 1000 --to 2000
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

    @Option(help: "Only this user's events.")
    var user: String?

    @Option(help: "Only events of this kind; may be repeated.")
    var kind: [Word<EventKind>] = []

    @OptionGroup var search: SearchOptions

    @Flag(help: "Go on with new events.")
    var follow = false

    func validate() throws {
        try requireStore()
        if follow, range.to != nil { throw ValidationError("'--follow' has no end, so '--to' cannot go with it.") }
        if follow, search.isSet { throw ValidationError("'--follow' goes with '--user' and '--kind' only.") }
        if follow, moment.asOf != nil { throw ValidationError("'--follow' and '--as-of' exclude each other.") }
    }

    func run() throws {
        let (kinds, isJSON) = (Set(kind.map(\.value)), global.json)
        try withStoreReader { store in
            let reader = store.blocking
            if search.isSet { return try printSearch(reader, kinds) }
            let selection = EventSelection(
                from: range.from, to: range.to, user: user, asOf: moment.asOf, archives: try archive.open(for: reader))
            guard follow else {
                return try printing { output in
                    var lines = EventLines(output, kinds: kinds, isJSON: isJSON, isEndless: false)
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
        var found = search.search(
            reader, user: user, kinds: kinds, from: range.from, through: min(range.to ?? head, head),
            try archive.open(for: reader))
        try printing { output in
            var lines = EventLines(output, kinds: [], isJSON: global.json, isEndless: false)
            while let events = try found.take() { try lines.write(events) }
            try lines.finish()
        }
    }
}
