import ArgumentParser
@_spi(Operations) @_spi(JSON) import Traylog

struct ProveCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "prove",
        abstract: "Prove that an event is in the log.",
        discussion: """
            The proof is the event's leaf and the hashes beside its way to the root (RFC 9162, 2.1.3); SHA-256 is all \
            that is needed to verify it. It proves something only against a tree head that was kept elsewhere: compare \
            its treeSize and rootHash, or ask with --as-of for the proof in that tree. The leaf has a salted hash of \
            the event's content, which 'traylog export' prints with its salt. If the event left the log, the proof has \
            only the hash of its leaf.

            EXAMPLES
              traylog prove 17
              traylog prove 17 --as-of 1000 --json
              traylog prove 17 --disclose --json > proof.json
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The event.")
    var seq: Seq

    @OptionGroup var moment: MomentOption

    @Flag(help: "With --json: salt and payload of the event, for somebody who may read it.")
    var disclose = false

    func run() throws {
        let (proof, disclosure) = try withReader { reader in
            (try reader.proof(of: seq, asOf: moment.asOf), disclose ? try reader.disclosure(of: seq) : nil)
        }
        try printing { output in
            if global.json {
                try output.json { $0.write(proof, salt: disclosure?.salt, payload: disclosure?.payload) }
            } else {
                var facts: [(String, Cell)] = [
                    ("leaf hash", Cell(proof.leafHash.hex)),
                    ("tree size", Cell("\(proof.head.size)")),
                    ("root hash", Cell(proof.head.root.hex)),
                ]
                facts.append(
                    ("path", Cell("\(proof.inclusion.path.count.counted("hash", "hashes")); --json prints them")))
                try output.line("event \(seq) is in the tree of \(proof.head.size.counted("event"))")
                try output.lines(FactsText(facts).lines(on: Terminal(.standardOutput)))
            }
        }
    }
}
