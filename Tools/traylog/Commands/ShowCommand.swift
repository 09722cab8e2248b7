import ArgumentParser
@_spi(Operations) import Traylog

struct ShowCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one event with all its fields, or one item and its life.",
        discussion: """
            With a seq alone, the event. With a user and an item, the item in whatever state it is, and who did what \
            to it and when, including what was undone since. Events that left the log are missing, unless --archive has \
            them.

            EXAMPLES
              traylog show 1200
              traylog show alice 1200
              traylog show alice mail-42 --json
              traylog show alice mail-42 --as-of yesterday
              traylog show alice mail-42 --archive old
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The event's seq; or the user whose item it is.", completion: .user)
    var subject: String

    @Argument(help: "The item's seq (all digits), or its key.")
    var item: String?

    @Flag(help: "Read the item as a key, even when it is all digits.")
    var keys = false

    @OptionGroup var moment: MomentOption

    @OptionGroup var archive: ArchiveOption

    func validate() throws {
        try requireStore()
        guard item == nil else { return }
        guard Seq(argument: subject) != nil else {
            throw ValidationError("Name an event by its seq, or an item by its user and its seq or key.")
        }
        guard moment.asOf == nil, !keys, archive.directory == nil else {
            throw ValidationError("'--as-of', '--keys' and '--archive' go with an item.")
        }
    }

    func run() throws {
        guard let item else { return try showEvent() }
        try recordReading(of: subject)
        let reference = try ItemReference(argument: item, isKey: keys)
        try withReader { reader in
            do {
                let life = try lookUp(reference, in: reader)
                let hold = global.json ? nil : reader.knownHold(of: subject)
                try printing { output in
                    if global.json {
                        try output.json { $0.write(life) }
                    } else {
                        try output.lines(ItemText(life, hold).lines(on: Terminal(.standardOutput)))
                    }
                }
            } catch TraylogError.failed(let failure) {
                if !global.json, case .seq(let seq) = reference, failure.event == seq {
                    try showTraces(of: seq, in: reader)
                }
                throw TraylogError.failed(failure)
            }
        }
    }

    /// What is known of an item whose own event is damaged.
    private func showTraces(of item: Seq, in reader: BlockingReader) throws {
        let events = try reader.traces(of: item, of: subject, asOf: moment.asOf)
        try printing { output in
            try output.lines(
                ["How item \(item) came cannot be read. What may have happened to it since:", ""]
                    + ItemText.lines(events, on: Terminal(.standardOutput)))
        }
    }

    private func lookUp(_ item: ItemReference, in store: BlockingReader) throws -> ItemLife {
        do throws(TraylogError) {
            return try store.life(
                of: item, of: subject, asOf: moment.asOf, including: archive.open(for: store))
        } catch {
            guard case .refused(.unknownItem(.seq(let seq))) = error else { throw error }
            throw Problem(refusal: .unknownItem(item), words: try absence(of: seq, in: store))
        }
    }

    /// The event that a seq names, when it is no item of the user.
    private func absence(of seq: Seq, in store: BlockingReader) throws -> String {
        let head = try store.head()
        guard seq > 0, seq <= head else { return "there is no event \(seq); the newest is \(head)" }
        let event = try store.event(seq)
        switch event.body {
        case .notified where event.user == subject: return "event \(seq) came later; leave '--as-of' out"
        case .notified: return "event \(seq) is an item of \(event.user ?? "somebody else"), not of \(subject)"
        case .broadcast(let topic, _):
            return "event \(seq) is a broadcast to \(topic), which \(subject) did not receive"
        default: return "event \(seq) is \(event.kind.rawValue), no item; 'traylog show \(seq)' shows it"
        }
    }

    private func showEvent() throws {
        let seq = Seq(argument: subject) ?? .zero
        let (event, hold) = try withReader { reader in
            let event = try find(seq, in: reader)
            return (event, global.json ? nil : event.user.flatMap { reader.knownHold(of: $0) })
        }
        if let user = event.user { try recordReading(of: user) }
        try printing { output in
            if global.json {
                try output.json { $0.write(event) }
            } else {
                try output.lines(EventText(event, hold).lines(on: Terminal(.standardOutput)))
            }
        }
    }

    private func find(_ seq: Seq, in store: BlockingReader) throws -> Event {
        do throws(TraylogError) {
            return try store.event(seq)
        } catch .refused(.unknownEvent(let seq)) {
            throw Problem(
                refusal: .unknownEvent(seq), words: "there is no event \(seq): the newest one is \(try store.head())")
        }
    }
}
