import ArgumentParser
@_spi(Operations) @_spi(JSON) import Traylog

struct ProveConsistencyCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "prove-consistency",
        abstract: "Prove that the log was only appended to between two sizes.",
        discussion: """
            The path is the consistency proof of RFC 9162, 2.1.4. With the tree head of OLD events it shows that the \
            tree of NEW events begins with the same events, in the same places.

            EXAMPLES
              traylog prove-consistency 1000 2500
              traylog prove-consistency 1000 2500 --json
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The size of the earlier tree: the seq of its newest event.")
    var old: Seq

    @Argument(help: "The size of the later tree.")
    var new: Seq

    func run() throws {
        let growth = try withReader { try $0.treeGrowth(from: old, to: new) }
        try printing { output in
            if global.json {
                try output.json { $0.write(growth) }
            } else {
                var facts: [(String, Cell)] = [
                    ("first", Cell("\(growth.first.size)")), ("first root", Cell(growth.first.root.hex)),
                    ("second", Cell("\(growth.second.size)")), ("second root", Cell(growth.second.root.hex)),
                ]
                let words =
                    "the tree of \(growth.second.size.counted("event")) begins with the tree of \(growth.first.size.counted("event"))"
                facts.append(
                    ("path", Cell("\(growth.consistency.path.count.counted("hash", "hashes")); --json prints them")))
                try output.line(words)
                try output.lines(FactsText(facts).lines(on: Terminal(.standardOutput)))
            }
        }
    }
}
