import ArgumentParser
@_spi(Operations) @_spi(JSON) import Traylog
@_spi(Witness) import TraylogAudit

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

            --tlog-proof prints a C2SP tlog-proof, which programs of others read: the leaf, the hashes, and the checkpoint \
            that they lead to, with the signatures of the log and of its witnesses. It is the checkpoint of --checkpoint, or \
            the newest one that a quorum of witnesses has seen.

            EXAMPLES
              traylog prove 17
              traylog prove 17 --as-of 1000 --json
              traylog prove 17 --disclose --json > proof.json
              traylog prove 17 --tlog-proof > event-17.tlog-proof
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The event.")
    var seq: Seq

    @OptionGroup var moment: MomentOption

    @Flag(help: "With --json: salt and payload of the event, for somebody who may read it.")
    var disclose = false

    @Flag(help: "Print a C2SP tlog-proof.")
    var tlogProof = false

    @Option(
        help: ArgumentHelp("With --tlog-proof: a checkpoint, as 'tree-head --sign' prints it.", valueName: "file"),
        completion: .file())
    var checkpoint: String?

    func validate() throws {
        try requireStore()
        if checkpoint != nil, !tlogProof { throw ValidationError("'--checkpoint' needs '--tlog-proof'.") }
        if tlogProof, global.json || disclose || moment.asOf != nil {
            throw ValidationError("'--tlog-proof' goes with neither '--json', '--disclose' nor '--as-of'.")
        }
    }

    /// The proof in the tree of a checkpoint.
    private func logProof() throws -> LogProof {
        let path = checkpoint ?? WitnessedStore.path(directory)
        let note = try checkpoint.map { try WitnessedStore.note(in: $0) } ?? WitnessedStore.read(directory)
        guard let note else {
            throw TraylogError.refused(
                .invalid(
                    field: "--tlog-proof",
                    reason:
                        "needs a checkpoint: name one with --checkpoint, or have one witnessed: 'traylog tree-head' with "
                        + "--sign and --witness-policy"))
        }
        let size = try KeyFile.using(path) { () throws(NoteError) in try Checkpoint(note.body).head.size }
        guard size >= UInt64(seq) else {
            throw TraylogError.refused(
                .invalid(field: path, reason: "is of \(size) events, and does not have event \(seq)"))
        }
        let proof = try withReader { try $0.proof(of: seq, asOf: .seq(Seq(size))) }
        return try KeyFile.using(path) { () throws(NoteError) in try LogProof(proof, note) }
    }

    func run() throws {
        if tlogProof {
            let text = try logProof().text
            return try printing { try $0.block(Array(text.utf8)) }
        }
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
