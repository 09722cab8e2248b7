import ArgumentParser
@_spi(Operations) @_spi(JSON) import Traylog
@_spi(Witness) import TraylogAudit
@_spi(JSON) import TraylogJSON

struct TreeHeadCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "tree-head",
        abstract: "Show size and root hash of the Merkle tree over the log.",
        discussion: """
            Whoever keeps a tree head elsewhere can prove later that no event up to it was changed, dropped, added or \
            moved: 'traylog verify --tree-head FILE'. With --sign it is a checkpoint (a C2SP signed note), signed with \
            the log's key.

            It is a query and writes nothing. Events that the stored tree lacks are hashed anew each time: about a \
            second for a million. --save stores the tree first, so it opens the store for writing.

            --witness-policy names a C2SP policy file with the addresses of witnesses. Each is sent the checkpoint and the \
            proof that it extends the one before; what a quorum has cosigned is printed, and kept beside the store for \
            'prove --tlog-proof'. Without a quorum nothing is printed, and exit status 74 says who did not cosign. Exit status \
            1 says that a witness knows another log of this name. The program 'curl' makes the requests. A server does the same by itself \
            (traylog-server --witness-policy).

            EXAMPLES
              traylog tree-head
              traylog tree-head --json > /mnt/elsewhere/head.json
              traylog tree-head --sign audit.key > /mnt/elsewhere/checkpoint
              traylog tree-head --sign audit.key --append /mnt/elsewhere/heads
              traylog tree-head --sign audit.key --witness-policy policy > checkpoint
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var moment: MomentOption

    @Option(help: ArgumentHelp("Sign it with the private key in this file.", valueName: "keyfile"), completion: .file())
    var sign: String?

    @Option(
        help: ArgumentHelp("Append it to a file that 'verify' reads whole.", valueName: "file"),
        completion: .file())
    var append: String?

    @Option(
        help: ArgumentHelp("Have it cosigned by the witnesses of this policy.", valueName: "file"), completion: .file())
    var witnessPolicy: String?

    @Flag(help: "Store the tree first, so that heads and proofs are quick from then on.")
    var save = false

    func validate() throws {
        try requireStore()
        guard witnessPolicy != nil else { return }
        if sign == nil {
            throw ValidationError("'--witness-policy' needs '--sign': witnesses look at the log's signature.")
        }
        if moment.asOf != nil {
            throw ValidationError("'--witness-policy' goes with no '--as-of': witnesses see the newest tree head.")
        }
    }

    func run() throws {
        let policy = try witnessPolicy.map { try PolicyFile.read($0) }
        let key = try sign.map { try KeyFile.privateKey($0) }
        if save {
            try withReader { _ in }
            try writing { store throws(TraylogError) in _ = try store.storeTree() }
        }
        let head = try withReader { try $0.treeHead(asOf: moment.asOf) }
        var checkpoint = try key.map { try KeyFile.checkpoint(of: head, with: $0, from: sign ?? "") }
        var isContradicted = false
        if let policy, let key, let text = checkpoint {
            let seen = try witnessed(text, head, policy, key)
            (checkpoint, isContradicted) = (seen.note.text, seen.isContradicted)
        }
        if let append { try addLine(head, checkpoint, to: append) }
        try printing { output in
            if global.json {
                try output.json { $0.write(head, checkpoint: checkpoint) }
            } else if let checkpoint {
                for line in checkpoint.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
                    try output.line(String(line))
                }
            } else {
                try output.lines(
                    FactsText([("tree size", Cell("\(head.size)")), ("root hash", Cell(head.root.hex))])
                        .lines(on: Terminal(.standardOutput)))
            }
        }
        if isContradicted { throw ExitCode(ExitStatus.difference.rawValue) }
    }

    /// The checkpoint with the cosignatures of a quorum, which is then kept beside the store.
    ///
    /// - Returns: also whether a witness knows another log of this name.
    private func witnessed(
        _ text: String, _ head: TreeHead, _ policy: WitnessPolicy, _ key: NotePrivateKey
    ) throws -> (note: SignedNote, isContradicted: Bool) {
        var round = try KeyFile.using(sign ?? "") { () throws(NoteError) in
            try WitnessRound(try SignedNote(parsing: text), by: policy)
        }
        let before = try WitnessedStore.read(directory)
        try withReader { reader in
            try round.run(after: before, head: { UInt64(try reader.head()) }) { size in
                size == 0 || size == head.size
                    ? [] : try reader.treeGrowth(from: Seq(size), to: Seq(head.size)).consistency.path
            }
        }
        try note(round, head)
        do throws(NoteError) {
            _ = try policy.check(round.note, log: key.publicKey, now: PolicyFile.now)
        } catch {
            if !round.conflicts.isEmpty { throw ExitCode(ExitStatus.difference.rawValue) }
            let problems = round.problems.map { "; \($0)" }.joined()
            throw TraylogError.failed(
                StoreFailure(
                    code: .unavailable,
                    message: "the policy \(witnessPolicy ?? "") is not satisfied: \(error.description)\(problems)"))
        }
        // A server may have had a later one witnessed meanwhile.
        let kept = try WitnessedStore.read(directory).flatMap { try? Checkpoint($0.body).head.size } ?? 0
        if kept <= head.size {
            try WitnessedStore.keep(round.note, directory)
            try UpkeepRecord.noteWitnessed(head: Seq(head.size), in: directory)
        }
        return (round.note, !round.conflicts.isEmpty)
    }

    /// Says who did not cosign, keeps the evidence of witnesses that know another log, and records it until all of them cosign.
    private func note(_ round: WitnessRound, _ head: TreeHead) throws {
        var alarms: [String] = []
        for (witness, theirs) in round.conflicts {
            let path = "\(directory)/\(WitnessConversation.evidenceFile(of: witness.key))"
            if !FileText.exists(path) { try FileText.replace(path, round.note.text + (theirs?.text ?? "")) }
            alarms.append(WitnessConversation.alarm(witness, round.note, theirs: theirs))
        }
        let isClear = alarms.isEmpty && round.problems.isEmpty
        if !alarms.isEmpty || (isClear && UpkeepRecord.read(directory).failures.contains { $0.check == .witness }) {
            record(.witness, findings: alarms, head: Seq(head.size))
        }
        let output = Output(.standardError)
        try output.lines(round.problems.map { "traylog: note: \(VisibleText($0).text)" })
        try output.lines(alarms.map { "traylog: \(VisibleText($0).text)" })
        try output.flush()
    }

    private func addLine(_ head: TreeHead, _ checkpoint: String?, to path: String) throws {
        var writer = JSONWriter()
        writer.write(head)
        try FileText.append(path, checkpoint ?? String(decoding: writer.bytes, as: UTF8.self) + "\n")
    }
}
