@_spi(JSON) import TraylogJSON
import ArgumentParser
import Traylog

struct InboxCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "inbox",
        abstract: "Show a user's items, newest first, a page at a time.",
        discussion: """
            Filters combine. A cursor stays valid when items come and go: walking all pages shows every item once. \
            States: new is neither seen nor read, unread is seen; ● stands before both. RECORDED is when the log recorded \
            that an item came; a time that its sender claimed is in 'show' and in --json, as 'occurred'.

            EXAMPLES
              traylog inbox alice
              traylog inbox alice --unread --category ci --limit 100
              traylog inbox alice --archived --thread build-17
              traylog inbox alice --text 'invoice march' --level timeSensitive
              traylog inbox alice --cursor c1-y1 --json
              traylog inbox alice --as-of 1200
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    @OptionGroup var page: PageOptions
    @OptionGroup var filter: ThreadFilter
    @OptionGroup var moment: MomentOption

    @Option(help: "Only items of this category; several times: of any of them.")
    var category: [String] = []

    @Option(help: "Only items from this actor; without another one, they are from the user.")
    var actor: String?

    @Option(help: ArgumentHelp("Only items of this level or a higher one.", valueName: "level"))
    var level: Word<InterruptionLevel>?

    @Option(help: ArgumentHelp("Only items recorded at or after a time.", valueName: "time"))
    var since: Moment?

    @Option(help: ArgumentHelp("Only items recorded at or before a time.", valueName: "time"))
    var until: Moment?

    @Option(
        help: ArgumentHelp(
            "Only items with each of these words in title or body, also inside of words, whatever their case and accents.",
            valueName: "words"))
    var text: String?

    @Flag(help: "Only unread items.")
    var unread = false

    @Flag(help: "Only unseen items, including muted ones.")
    var unseen = false

    @Flag(help: "Only items with actions and without an answer, including muted ones.")
    var awaiting = false

    @Flag(help: "Archived items instead.")
    var archived = false

    @Flag(help: "Snoozed items instead.")
    var snoozed = false

    @Flag(help: "Include silent items.")
    var includeSilent = false

    @OptionGroup var form: CSVOption

    func validate() throws {
        try requireStore()
        try form.check(global)
        if archived, snoozed { throw ValidationError("'--archived' and '--snoozed' cannot be combined.") }
        _ = try (time(since, "--since"), time(until, "--until"))
    }

    func run() throws {
        try recordReading(of: user)
        let isText = !global.json && !form.csv
        let (answer, hold) = try withReader { reader in
            if !global.json { try noteIfUnknown(user, reader) }
            return (
                try reader.inbox(of: user, query(), asOf: moment.asOf), isText ? reader.knownHold(of: user) : nil
            )
        }
        try printing { output in
            if global.json {
                try output.json { $0.write(answer, of: user) }
            } else if form.csv {
                try output.line(CSVText.line(Item.csvNames))
                for item in answer.elements { try output.line(CSVText.line(item.csvFields)) }
            } else {
                let terminal = Terminal(.standardOutput)
                try output.lines(hold.heading(on: terminal) + InboxText(answer).lines(on: terminal))
            }
        }
    }

    private func query() throws -> InboxQuery {
        InboxQuery(
            ItemFilter(
                includeSilent: includeSilent, onlyUnread: unread, onlyUnseen: unseen, onlyAwaiting: awaiting,
                thread: filter.selected,
                categories: category, actor: actor, level: level?.value, since: try time(since, "--since"),
                until: try time(until, "--until"), text: text),
            view: archived ? .archived : snoozed ? .snoozed : .inbox, limit: page.limit,
            cursor: page.cursor)
    }

    private func time(_ moment: Moment?, _ option: String) throws -> Timestamp? {
        guard case .seq? = moment else { return moment?.time }
        throw ValidationError("'\(option)' takes a time, not a seq.")
    }
}

extension Moment {
    fileprivate var time: Timestamp? { if case .time(let time) = self { time } else { nil } }
}
