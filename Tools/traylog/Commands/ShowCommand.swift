import ArgumentParser
import Traylog

struct ShowCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one event with all its fields, or one item and its life.",
        discussion: """
            With a seq alone, the event. With a user and an item, the item in whatever state it is, and who did what to \
            it, when: also what was undone since.

            EXAMPLES
              traylog show 1200
              traylog show alice 1200
              traylog show alice mail-42 --json
              traylog show alice mail-42 --as-of yesterday
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The event's seq; or the user whose item it is.", completion: .user)
    var subject: String

    @Argument(help: "The item's seq (all digits), or its key.")
    var item: String?

    @Flag(help: "Read the item as a key, even when it is all digits.")
    var keys = false

    @OptionGroup var moment: MomentOption

    func validate() throws {
        try requireStore()
        guard item == nil else { return }
        guard Seq(argument: subject) != nil else {
            throw ValidationError("Name an event by its seq, or an item by its user and its seq or key.")
        }
        if moment.asOf != nil || keys { throw ValidationError("'--as-of' and '--keys' go with an item.") }
    }

    func run() throws {
        guard let item else { return try showEvent() }
        let reference = try ItemReference(argument: item, isKey: keys)
        let life = try withReader { try $0.life(of: reference, of: subject, asOf: moment.asOf) }
        try printing { output in
            if global.json {
                try output.json { $0.write(life) }
            } else {
                try output.lines(ItemText(life).lines(on: Terminal(.standardOutput)))
            }
        }
    }

    private func showEvent() throws {
        let event = try withReader { try $0.event(Seq(argument: subject) ?? .zero) }
        try printing { output in
            if global.json {
                try output.json { $0.write(event) }
            } else {
                try output.lines(EventText(event).lines(on: Terminal(.standardOutput)))
            }
        }
    }
}
