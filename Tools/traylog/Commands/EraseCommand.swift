import ArgumentParser
@_spi(Operations) import Traylog

struct EraseCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Erase a person permanently.",
        discussion: """
            Afterwards no file of the store or its archives has the user's name or the content of the user's own \
            events. Kind and time of each event stay, in the history of a pseudonym, so that earlier proofs still \
            hold. The content of other users' events stays, even where it names the person. Backups, exports and \
            copies of archives are out of reach: erase there, too, or delete them.

            EXAMPLES
              traylog erase alice --yes
              traylog erase alice --yes --actor dpo@example.org --json
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    @Flag(help: "Confirm the erasure, which nobody can undo.")
    var yes = false

    @Option(help: "Who asks for it.")
    var actor: String?

    @Option(
        help: ArgumentHelp("Where the store's archives are, if they were moved.", valueName: "dir"),
        completion: .directory)
    var archive: String?

    func validate() throws {
        try requireStore()
        guard yes else {
            throw ValidationError("Nobody can undo an erasure. To go ahead, add '--yes'.")
        }
    }

    func run() throws {
        try withReader { _ in }
        var progress = ProgressBar("erase", unit: "events")
        let result = Result { () throws(TraylogError) in
            try writing { store throws(TraylogError) in
                try store.erase(user, actor: actor, device: nil, archives: archive) { done, total in
                    guard total > 0 else { return }
                    progress.update(count: done, fraction: Double(done) / Double(total))
                }
            }
        }
        progress.clear()
        let report = try result.get()
        try printing { output in
            if global.json {
                try output.json { $0.write(report) }
            } else {
                try output.lines(report.words)
            }
        }
    }
}

extension ErasureReport {
    fileprivate var words: [String] {
        guard let seq, let pseudonym else { return ["unchanged: no user has that name"] }
        var lines = ["erased: \(events.counted("event")), now of \(pseudonym); event \(seq)"]
        for archive in archives { lines.append("archive rewritten: \(VisibleText(archive).text)") }
        for file in replaced ?? [] { lines.append("replaced, so delete copies of it: \(VisibleText(file).text)") }
        lines.append("not reached: backups, exports, and copies of archives")
        return lines
    }
}
