import ArgumentParser
@_spi(Operations) @_spi(JSON) import Traylog
@_spi(Witness) import TraylogAudit

struct VerifyCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check everything in the store that can be checked.",
        discussion: """
            Prints each finding on a line, and on standard error what to do about them, as commands for this store; exits \
            with status 1 if there are any. With --archive it also reads and \
            checks each archive of the directory. What 'traylog archive' wrote must be whole from event 1 on, and of this store; \
            without a store, it is checked by itself, and must extend the tree heads.

            With --tree-head it checks that the log extends a tree head that was kept elsewhere (JSON of 'tree-head', \
            or a checkpoint): all events up to it are the same, in the same order. If they are not, it names the first \
            event that differs, or the 256 events among which that is.

            With --witness-policy each of them must satisfy a C2SP policy: signed by one of its logs, and cosigned by a \
            quorum of its witnesses. The sentence about it goes to standard error where --json is given.

            EXAMPLES
              traylog verify
              traylog verify --json
              traylog verify --archive old
              traylog verify --archive /mnt/archive --tree-head /mnt/elsewhere/heads
              traylog verify --tree-head /mnt/head --public-key audit.key.pub
              traylog verify --since /mnt/heads && traylog tree-head --append /mnt/heads
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var archive: ArchiveOption

    @Option(
        help: ArgumentHelp(
            "A tree head that was kept elsewhere; may be given several times ('-': standard input).", valueName: "file"),
        completion: .file())
    var treeHead: [String] = []

    @Option(
        help: ArgumentHelp("The public key that must have signed each of them.", valueName: "file"), completion: .file()
    )
    var publicKey: String?

    @Option(
        help: ArgumentHelp(
            "The policy that each of them must satisfy: signed by a log, seen by a quorum.", valueName: "file"),
        completion: .file())
    var witnessPolicy: String?

    @Option(
        help: ArgumentHelp(
            "For a timer: what is new since a tree head (the last one in the file), and that nothing before it changed.",
            valueName: "file"),
        completion: .file())
    var since: String?

    func validate() throws {
        if !checksArchiveAlone { try requireStore() }
        guard publicKey == nil || !treeHead.isEmpty || since != nil else {
            throw ValidationError("'--public-key' needs a '--tree-head' that it has signed.")
        }
        guard witnessPolicy == nil || !treeHead.isEmpty || since != nil else {
            throw ValidationError("'--witness-policy' needs a '--tree-head' that witnesses have seen.")
        }
    }

    /// Whether there is an archive of a log, and no store to compare it with.
    private var checksArchiveAlone: Bool {
        guard let archive = archive.directory, global.store != "", Archives.holdLog(in: archive) else { return false }
        return global.directory.map { !FileText.exists($0) } ?? true
    }

    func run() throws {
        let earlier = try since.flatMap { try TreeHeadFile.read($0).last }.map { try $0.kept() }
        let kept =
            try treeHead.flatMap { try TreeHeadFile.read($0) }.map { try $0.kept() } + [earlier].compactMap(\.self)
        let key = try publicKey.map { try KeyFile.publicKey($0) }
        let policy = try witnessPolicy.map { try PolicyFile.read($0) }
        if let policy { try checkWitnesses(of: kept, policy, key) }
        let isAlone = checksArchiveAlone
        let head = (try? withReader { try $0.head() }) ?? .zero
        var progress = ProgressBar("verify", unit: "events")
        let result = Result { () throws(TraylogError) in
            if isAlone, let archive = archive.directory {
                return try Verification.run(archive: archive, treeHeads: kept, publicKey: key) { done, total in
                    progress.update(count: done, fraction: total > 0 ? min(Double(done) / Double(total), 1) : nil)
                }
            }
            return try Verification.run(
                directory: directory, archives: archive.directory, treeHeads: kept, publicKey: key
            ) { done, total in
                // Several passes over the same events are one way through them.
                let fraction = total > 0 ? min(Double(done) / Double(total), 1) : 0
                progress.update(count: UInt64(Double(UInt64(head)) * fraction), fraction: fraction)
            }
        }
        progress.clear()
        let report = try isAlone ? result.get() : recording(result)
        try printing { output in
            if global.json {
                try output.json { $0.write(report, treeHeads: kept, key: key, since: earlier) }
            } else {
                for (tree, isExtended) in zip(kept, report.extends) where isExtended {
                    let signature =
                        if let key { tree.objection(by: key) == nil ? ", signed" : "" } else if policy != nil {
                            ", signed"
                        } else {
                            tree.note == nil ? "" : ", signature not looked at"
                        }
                    try output.line(
                        "the \(isAlone ? "archive" : "log") extends the tree head of \(tree.head.size.counted("event"))\(signature)"
                    )
                }
                if let earlier {
                    let new = report.events > earlier.head.size ? report.events - earlier.head.size : 0
                    try output.line("new since then: \(new.counted("event"))")
                }
                for finding in report.findings { try output.line(VisibleText(finding).text) }
                let verdict = report.findings.isEmpty ? "sound" : report.findings.count.counted("finding")
                let archived =
                    isAlone ? "" : report.archivedEvents.map { ", \($0.counted("event")) in archives" } ?? ""
                // Where the states could not be read, nobody knows whose events they are.
                let users = report.users == 0 ? "" : " of \(report.users.counted("user"))"
                let left = report.dropped == 0 ? "" : ", \(report.dropped.grouped) of which left the log"
                try output.line("\(verdict): \(report.events.counted("event"))\(users)\(left)\(archived)")
            }
        }
        if !isAlone {
            record(.verification, findings: report.findings, head: Seq(report.events))
            if !report.findings.isEmpty { tellNext(.verification, report.findings) }
        }
        if !report.findings.isEmpty { throw ExitCode(ExitStatus.difference.rawValue) }
    }

    /// Says who has seen the tree heads; one that does not count is not compared with the store.
    private func checkWitnesses(of kept: [KeptTreeHead], _ policy: WitnessPolicy, _ key: NotePublicKey?) throws {
        let verdicts = WitnessVerdicts(policy, kept, key)
        let output = Output(global.json ? .standardError : .standardOutput)
        try output.lines((verdicts.words + verdicts.findings).map { VisibleText($0).text })
        try output.flush()
        if !verdicts.findings.isEmpty { throw ExitCode(ExitStatus.difference.rawValue) }
    }

    /// The report; a store that is too damaged to be checked counts as one with a finding.
    private func recording(_ result: Result<VerificationReport, TraylogError>) throws -> VerificationReport {
        if case .failure(.failed(let failure)) = result, failure.code == .damaged {
            record(.verification, findings: [failure.message], head: .zero)
        }
        return try result.get()
    }
}
