import ArgumentParser
@_spi(Operations) @_spi(JSON) import Traylog
import TraylogJSON

struct DossierCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "dossier",
        abstract: "Export everything stored about a person, as JSON and as a page.",
        discussion: """
            The items, the person's own events, the broadcasts that reached the person, and what the person did in the \
            trays of others. DIR gets dossier.jsonl, in which each event has its proof and its content ('traylog help \
            check'), and dossier.html, to read. An earlier dossier of the same person is replaced, any other file is \
            not. Before an erasure it says what the erasure reaches, and after it what is left. With --archive it \
            includes the events that compactions removed from the log.

            It first appends 'audited', which says who asked (--actor, --device) and what for (--purpose): with it, \
            'check --complete' shows that nothing was left out. While a server has the store open, the command asks it for \
            that event, and reads the rest itself. With --witnessed it waits up to two minutes for a checkpoint that has it and \
            that a quorum of witnesses has seen; the dossier has that with it ('traylog help audit').

            EXAMPLES
              traylog dossier alice /tmp/alice
              traylog dossier alice /tmp/alice --archive /var/lib/trays/archive
              traylog check /tmp/alice/dossier.jsonl --tree-head checkpoint
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    @Argument(
        help: ArgumentHelp("A directory, which is made where it is missing.", valueName: "dir"), completion: .directory)
    var target: String

    @OptionGroup var archive: ArchiveOption
    @OptionGroup var witnessed: WitnessedOption

    @Option(help: "Who reads it.")
    var actor: String?

    @Option(help: "From which device.")
    var device: String?

    @Option(help: "What for.")
    var purpose: String?

    func run() throws {
        try closingHistory(of: user, actor: actor, device: device, purpose: purpose, write)
    }

    private func write(_ store: any BlockingQueries, through last: Seq) throws {
        if !global.json { try noteIfUnknown(user, store) }
        let archives = try archive.open(for: store)
        try FileText.makeDirectory(target)
        try checkTarget()
        let note = try seen(store.treeHead(asOf: .seq(last)), store, witnessed, waiting: 120).note
        let file = try store.personFile(
            of: user, through: last, isDossier: true, including: archives, seenIn: note,
            version: TraylogCommand.configuration.version)
        guard let dossier = file.dossier else { return }
        try FileText.replace(target + "/dossier.jsonl") { output in
            while let block = try file.take() { try output.block(block) }
        }
        try FileText.replace(target + "/dossier.html") { try DossierPage(dossier).write(to: $0) }
        try printing { output in
            guard global.json else { return try output.lines(words(dossier)) }
            try output.json { writer in
                writer.beginObject()
                writer.member("user", user)
                writer.member("items", dossier.items.count)
                writer.member("own", dossier.count(.own))
                writer.member("topic", dossier.count(.topic))
                writer.member("actor", dossier.count(.actor))
                writer.member("held", dossier.isHeld)
                writer.name("treeHead")
                writer.write(dossier.head)
                writer.endObject()
            }
        }
    }

    /// Refuses to replace what is no earlier dossier of the same person.
    private func checkTarget() throws {
        var writer = JSONWriter()
        writer.value(user)
        let isOfUser = "{\"user\":\(String(decoding: writer.bytes, as: UTF8.self)),"
        let lines = target + "/dossier.jsonl"
        guard FileText.exists(lines) else {
            guard FileText.exists(target + "/dossier.html") else { return }
            throw Problem(
                occupied: target + "/dossier.html",
                advice:
                    "there is no dossier.jsonl beside it, so it is no dossier of this person. Name another directory. "
                    + "Nothing was written.")
        }
        guard FileText.beginning(lines, bytes: isOfUser.utf8.count) == isOfUser else {
            throw Problem(
                occupied: lines,
                advice: "it is no dossier of \(user). Name another directory. Nothing was written.")
        }
    }

    private func words(_ dossier: Dossier) -> [String] {
        var lines = [
            "items in the tray: \(dossier.items.count.grouped)",
            "own events: \(dossier.count(.own).grouped), of which an erasure leaves kind and time",
            "broadcasts received: \(dossier.count(.topic).grouped), which an erasure leaves",
            "events elsewhere with this actor: \(dossier.count(.actor).grouped), which an erasure leaves, with the name",
        ]
        if dossier.isHeld { lines.append("held: an erasure is refused until 'traylog release'") }
        let files = ["dossier.jsonl", "dossier.html"].map { name in
            "\(VisibleText(target + "/" + name).text), \((FileText.size(target + "/" + name) ?? 0).asBytes)"
        }
        return lines + files.map { "wrote \($0)" }
    }
}
