import ArgumentParser
@_spi(Operations) import Traylog
@_spi(Witness) import TraylogAudit
import TraylogCLibrary

struct WitnessCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "witness",
        abstract: "Witness other logs: cosign checkpoints that extend what was cosigned before.",
        discussion: """
            A server (HTTP, C2SP tlog-witness) for the logs that LOGS names, a C2SP policy file of which only the lines \
            'log KEY' count; 'quorum none' ends it. It cosigns a checkpoint if the log has signed it and it extends the one \
            cosigned before. That one is in the directory of --state, on the disk, before the answer is sent.

            If a log signs two trees of one size, both checkpoints are kept, as HASH.conflict and HASH.conflict.before: \
            they prove it. A larger checkpoint without a proof that it extends the one before is kept as HASH.unproved, the \
            first time: its log may have another history, or the sender left the proof out. Standard error names both. \
            HASH is the SHA-256 of the log's name. GET /HASH/checkpoint shows what was cosigned last.

            'traylog keygen FILE --witness --name NAME' makes its key. Begin with --new, once. Later a missing directory \
            means that what was cosigned is lost: a witness that goes on would cosign a second history. Make a new key then, \
            under a new name. Put a proxy with TLS in front of it where others reach it.

            EXAMPLES
              traylog witness --key witness.key --logs logs --state /var/lib/witness --new
              traylog witness --key witness.key --logs logs --state /var/lib/witness --listen 127.0.0.1:7380
            """)

    @OptionGroup var global: GlobalOptions

    @Option(help: ArgumentHelp("The private key, of 'keygen --witness'.", valueName: "keyfile"), completion: .file())
    var key: String

    @Option(help: ArgumentHelp("A policy file that names the logs.", valueName: "file"), completion: .file())
    var logs: String

    @Option(
        help: ArgumentHelp("The directory for what was cosigned.", valueName: "dir"), completion: .directory)
    var state: String

    @Option(help: ArgumentHelp("The address and port; port 0 takes any.", valueName: "host:port"))
    var listen = "127.0.0.1:7380"

    @Flag(help: "Make the directory: this key has cosigned nothing yet.")
    var new = false

    func run() throws {
        let (own, policy) = (try KeyFile.privateKey(key), try PolicyFile.read(logs))
        guard !policy.logs.isEmpty else { throw Problem(usage: "\(logs) names no log: add a line 'log KEY'") }
        let witness = try KeyFile.using(key) { () throws(NoteError) in try LogWitness(key: own, logs: policy.logs) }
        let book = try WitnessBook(state, of: own.publicKey, isNew: new)
        let listener = try HTTPListener(listen)
        let output = Output(.standardOutput)
        try output.line("witness \(own.publicKey.text)")
        try output.line("listening on http://\(listener.address)")
        try output.flush()
        for log in policy.logs {
            if let path = book.evidence(against: log.name) { Self.say("\(log.name) signed two histories, see \(path)") }
        }
        listener.run { request in
            do {
                return try Self.answer(request, witness, book)
            } catch {
                Self.say(Problem(error, of: self)?.message ?? "\(error)")
                return HTTPListener.Answer(500, "the witness cannot keep its state\n")
            }
        }
    }

    private static func answer(
        _ request: HTTPListener.Request, _ witness: LogWitness, _ book: WitnessBook
    ) throws -> HTTPListener.Answer {
        if request.path == "/add-checkpoint" {
            guard request.method == "POST" else { return HTTPListener.Answer(405, "POST it\n", allow: "POST") }
            let answer = try witness.answer(to: request.body, now: PolicyFile.now) { try book.checkpoint($0) }
            if let note = answer.cosigned { try book.keep(note) }
            if let doubt = answer.doubt, let path = try book.keep(request.body, doubt) {
                switch doubt {
                case .conflict: say("a log signed two trees of one size, see \(path)")
                case .unproved: say("a checkpoint came without a proof that it extends the one before, see \(path)")
                }
            }
            return HTTPListener.Answer(answer.status, answer.body, type: answer.contentType)
        }
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].isEmpty, parts[2] == "checkpoint", WitnessBook.isIdentity(parts[1]),
            let note = try book.checkpoint(String(parts[1]))
        else { return HTTPListener.Answer(404, "there is no such path\n") }
        guard request.method == "GET" else { return HTTPListener.Answer(405, "GET it\n", allow: "GET") }
        return HTTPListener.Answer(200, note.text)
    }

    private static func say(_ text: String) {
        let output = Output(.standardError)
        try? output.line("traylog witness: \(VisibleText(text).text)")
        try? output.flush()
    }
}

/// The checkpoints that a witness cosigned last, and those of the logs that it refused, as files of a directory.
struct WitnessBook {
    private let directory: String

    /// - Parameter isNew: makes the directory for a key that has cosigned nothing.
    /// - Throws: ``Problem`` where the directory is another key's, or missing, or another process uses it.
    init(_ directory: String, of key: NotePublicKey, isNew: Bool) throws {
        self.directory = directory
        let owner = directory + "/witness"
        if isNew {
            try FileText.makeDirectory(directory)
            try FileText.keepName(of: directory)
            guard !FileText.exists(owner) else {
                throw Problem(occupied: owner, advice: "the directory is a witness's already; go on without --new")
            }
            try FileText.replace(owner, key.text + "\n")
        }
        guard FileText.exists(owner) else {
            throw TraylogError.refused(
                .invalid(
                    field: owner,
                    reason:
                        "is missing: if this key has cosigned before, what it cosigned is lost, and it must not go on; "
                        + "make a new key, under a new name. For a key that has cosigned nothing, add --new"))
        }
        guard try FileText.read(owner) == key.text + "\n" else {
            throw Problem(occupied: owner, advice: "the directory is another key's; give the key that it names")
        }
        try Self.lock(directory + "/lock")
    }

    /// Keeps other processes out until this one ends.
    private static func lock(_ path: String) throws {
        let number = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw SystemFailure(path) }
        guard flock(number, LOCK_EX | LOCK_NB) == 0 else {
            throw Problem(occupied: path, advice: "another process uses the directory")
        }
    }

    /// Whether it is a name that a log can have here: 64 hexadecimal digits.
    static func isIdentity(_ name: some StringProtocol) -> Bool {
        name.utf8.count == 64
            && name.utf8.allSatisfy {
                UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
            }
    }

    /// The checkpoint that was cosigned last; nil for none.
    func checkpoint(_ log: String) throws -> SignedNote? {
        let path = "\(directory)/\(log)"
        guard FileText.exists(path) else { return nil }
        let text = try FileText.read(path)
        return try KeyFile.using(path) { () throws(NoteError) in try SignedNote(parsing: text) }
    }

    /// Keeps the checkpoint that was cosigned; it is on the disk when this returns.
    func keep(_ note: SignedNote) throws { try FileText.replace("\(directory)/\(try log(note))", note.text) }

    /// Keeps the first request about a log that was refused for this reason, and the checkpoint before it.
    ///
    /// - Returns: the file; nil where there is one already.
    func keep(_ request: [UInt8], _ doubt: LogWitness.Doubt) throws -> String? {
        let log = try log(try AddCheckpoint(parsing: request).note)
        let path = "\(directory)/\(log).\(doubt.rawValue)"
        guard !FileText.exists(path) else { return nil }
        if let before = try checkpoint(log) { try FileText.replace(path + ".before", before.text) }
        try FileText.replace(path, String(decoding: request, as: UTF8.self))
        return path
    }

    /// The file that proves that a log signed two histories; nil where there is none.
    func evidence(against origin: String) -> String? {
        let path = "\(directory)/\(LogWitness.identity(ofLog: origin)).conflict"
        return FileText.exists(path) ? path : nil
    }

    private func log(_ note: SignedNote) throws -> String {
        LogWitness.identity(ofLog: try Checkpoint(note.body).origin)
    }
}
