import ArgumentParser
@_spi(Operations) import Traylog
@_spi(Witness) import TraylogAudit
import TraylogJSON

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a proof, a report, a decision or a person's file, without a store.",
        discussion: """
            FILE is what 'prove --json', 'prove-consistency --json', 'audit --json' or 'decision --json' printed, the \
            dossier.jsonl of 'dossier', or the page of an item's story. Everything in it is compared with a tree head that was \
            kept elsewhere; with --public-key the signature is checked, too. Exit status 1 says what is wrong, each finding on a line.

            A report shows what events say. That is proved if it has salt and payload ('audit --disclose'); otherwise \
            only number, kind and times are.

            Of a decision one sentence says who answered what, to which title, when, and by which tree head. That nobody \
            left out an edit before the answer is proved. That none came later is what the file's maker says: a later \
            tree head, or 'audit --complete', shows it.

            An item's story, the page that the console saves with 'Prove this', is checked with the log's --public-key, which \
            signed it, or with a tree head of its size, or both. Each sentence is printed with the event that it rests on. \
            'Stated' means that something never happened, or that nothing else happened to the item, which no event can show: \
            the owner of the log says so, and --public-key shows that it was the owner.

            --complete checks what 'audit --complete' or 'dossier' wrote: that no event of the user is left out and no \
            event of the user's topics, and that every count and item follows from these events and from no others. \
            The tree head must be that of the file's last event ('tree-head --as-of').

            --witness-policy names a C2SP policy file: each tree head must be signed by one of its logs and cosigned by a \
            quorum of its witnesses, so that nobody else was shown another log.

            Without --tree-head the one counts that FILE has with it, if --public-key has signed it or the policy holds: that of a \
            report, a decision, a history or a dossier from a server, or of a log with witnesses; and that of a C2SP tlog-proof, as \
            'prove --tlog-proof' prints it.

            EXAMPLES
              traylog check event-17.tlog-proof --witness-policy policy
              traylog check alice.jsonl --witness-policy policy
              traylog check proof.json --tree-head checkpoint --public-key audit.key.pub
              traylog check alice.jsonl --tree-head head.json --json
              traylog check story-17.html --public-key audit.key.pub
              traylog check alice.jsonl --complete --tree-head head.json
              traylog check history-alice.jsonl --complete --public-key audit.key.pub
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(
        help: "A proof, a report, a story or a person's file, or - for standard input.", completion: .file())
    var file: String

    @Option(
        help: ArgumentHelp("A tree head that was kept elsewhere; may be given several times.", valueName: "file"),
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

    @Flag(help: "Check that nothing is left out of a history, and that its counts and items follow from it.")
    var complete = false

    func validate() throws {
        guard !treeHead.isEmpty || witnessPolicy != nil || publicKey != nil else { throw Self.missingHead }
    }

    private static let missingHead = ValidationError(
        "Missing '--tree-head <file>' or '--public-key <file>': a proof proves something only against a tree head that was "
            + "kept elsewhere, or by the signature of the log's key on what the file has with it.")

    /// The usage error for a file without a signed tree head, where the caller named no other; the file has been opened by then.
    private func missingHead(in file: String) -> Problem {
        Problem(
            usage: "\(VisibleText(file).text) has no tree head with it that a key has signed: name one with "
                + "'--tree-head <file>', as 'traylog tree-head' printed it. 'traylog help check' says more.")
    }

    func run() throws {
        let key = try publicKey.map { try KeyFile.publicKey($0) }
        let policy = try witnessPolicy.map { try PolicyFile.read($0) }
        var lines = try CheckedLines(file)
        let first = try lines.next()
        let firstLine = first?.text ?? []
        if treeHead.isEmpty, let policy, LogProof.isProof(firstLine) {
            return try checkLogProof(try (first?.bytes ?? []) + lines.rest(), policy, key)
        }
        let named = try treeHead.flatMap { try TreeHeadFile.read($0) }
        var heads = named.map(\.text)
        if heads.isEmpty { heads = KeptTreeHead.carried(byFirstLine: firstLine).map { [$0] } ?? [] }
        if heads.isEmpty, policy != nil {
            return try report(["\(file) has no checkpoint with it: name one with --tree-head"])
        }
        guard !heads.isEmpty || !complete && (first == nil || StoryCheck.isStory(firstLine)) else {
            throw missingHead(in: file)
        }
        let verdicts: WitnessVerdicts?
        do throws(TraylogError) {
            let kept =
                named.isEmpty
                ? try heads.map { text throws(TraylogError) in try KeptTreeHead(text) }
                : try named.map { file throws(TraylogError) in try file.kept() }
            verdicts = policy.map { WitnessVerdicts($0, kept, key) }
        } catch {
            // What the file has with it is no mistake of whoever checks it.
            guard treeHead.isEmpty else { throw error }
            return try report(["\(file): \(error.message)"])
        }
        if let verdicts, !verdicts.findings.isEmpty { return try report(verdicts.findings) }
        /// Hands on all lines, the first one too.
        func read(_ take: (CheckedLines.Line) -> Void) throws {
            var line = first
            while let each = line {
                take(each)
                line = try lines.next()
            }
        }
        if complete {
            var check = try CompleteCheck(treeHeads: heads, publicKey: key)
            try read { check.add($0.text) }
            check.finish()
            try report(check, verdicts)
        } else if StoryCheck.isStory(firstLine) {
            var check = try StoryCheck(treeHeads: heads, publicKey: key)
            // A carriage return is part of the page's line.
            try read { check.add($0.bytes.last == 0x0A ? $0.bytes.dropLast() : $0.bytes) }
            check.finish()
            try report(check, verdicts)
        } else if DecisionCheck.isDecision(firstLine) {
            var check = try DecisionCheck(treeHeads: heads, publicKey: key)
            try read { check.add($0.text) }
            check.finish()
            try report(check, verdicts)
        } else {
            var check = try HandedOutCheck(treeHeads: heads, publicKey: key)
            try read { check.add($0.text) }
            check.finish()
            try report(check, verdicts)
        }
    }

    /// A proof that has its own tree head.
    private func checkLogProof(_ bytes: [UInt8], _ policy: WitnessPolicy, _ key: NotePublicKey?) throws {
        let verdicts: WitnessVerdicts
        let event: EventProof
        do throws(NoteError) {
            let proof = try LogProof(parsing: bytes)
            guard let found = proof.eventProof else {
                throw .malformedNote("the leaf in the line 'extra' does not lead to the root of the checkpoint")
            }
            let head = try Checkpoint(proof.note.body).head
            event = found
            verdicts = WitnessVerdicts(policy, [(head.size, proof.note)], key)
        } catch {
            return try report(["\(file): \(error.description)"])
        }
        guard verdicts.findings.isEmpty else { return try report(verdicts.findings) }
        let proved = ProvedEventsText([ProvedEvent(event)].compactMap(\.self), of: 1)
        try report([], isSigned: true, verdicts, proved: proved) { writer in
            writer.member("provedEvents", 1)
            writer.member("disclosedEvents", 0)
            writer.member("seq", event.seq)
        } words: {
            [
                "true: event \(event.seq) proved by number, kind and times alone",
                "by the tree head of \(event.head.size.counted("event")), signed",
            ]
        }
    }

    /// Prints what a check says, and ends the program with status 1 where it found something.
    ///
    /// - Parameters:
    ///   - isSigned: whether a signature was looked at.
    ///   - notProved: the last line where something was.
    ///   - proved: the events to show where nothing was.
    ///   - members: what JSON says of this kind of check.
    ///   - words: the lines for a person where nothing was found.
    private func report(
        _ findings: [String], isSigned: Bool = false, _ seen: WitnessVerdicts? = nil, notProved: String? = nil,
        proved: ProvedEventsText? = nil, _ members: (inout JSONWriter) -> Void = { _ in },
        words: () -> [String] = { [] }
    ) throws {
        let output = Output(.standardOutput)
        if global.json {
            try output.json { writer in
                writer.beginObject()
                writer.member("ok", findings.isEmpty)
                members(&writer)
                if findings.isEmpty { proved?.write(to: &writer) }
                writer.member("signed", isSigned && findings.isEmpty)
                if findings.isEmpty { write(seen, to: &writer) }
                writer.name("findings")
                writer.beginArray()
                for finding in findings { writer.value(finding) }
                writer.endArray()
                writer.endObject()
            }
        } else if findings.isEmpty {
            try output.lines(words() + (seen?.words ?? []).map { VisibleText($0).text })
            if let proved { try output.lines(proved.lines(on: Terminal(.standardOutput))) }
        } else {
            for finding in findings { try output.line(VisibleText(finding).text) }
            try output.line(notProved ?? "not proved: \(findings.count.counted("finding"))")
        }
        try output.flush()
        if !findings.isEmpty { throw ExitCode(ExitStatus.difference.rawValue) }
    }

    /// Who saw the tree heads, where a policy asks for it.
    private func write(_ verdicts: WitnessVerdicts?, to writer: inout JSONWriter) {
        guard let last = verdicts?.last else { return }
        writer.name("witnesses")
        writer.beginObject()
        writer.member("seen", last.times.count)
        writer.member("of", last.witnesses)
        if let time = last.lastSeen { writer.member("at", Timestamp(milliseconds: Int64(clamping: time) &* 1_000)) }
        writer.endObject()
    }

    private func report(_ check: CompleteCheck, _ seen: WitnessVerdicts?) throws {
        try report(check.findings, isSigned: isSigned(seen), seen, notProved: "not proved to be complete") { writer in
            writer.member("complete", check.findings.isEmpty)
            writer.member("user", check.user)
            writer.member("revision", check.revision)
            writer.member("erasedEvents", check.erasedEvents)
            writer.member("topicEvents", check.topicEvents)
            writer.member("provedEvents", check.provedEvents.all)
            writer.member("disclosedEvents", check.provedEvents.disclosed)
        } words: {
            ["complete: \(VisibleText(check.conclusion).text)", proof(check.heads, seen)]
        }
    }

    private func report(_ check: DecisionCheck, _ seen: WitnessVerdicts?) throws {
        try report(check.findings, isSigned: isSigned(seen), seen) { writer in
            writer.member("decision", true)
            if let statement = check.statement {
                writer.member("user", statement.user)
                writer.member("item", statement.item)
                writer.member("title", statement.content.title)
                writer.name("outcome")
                writer.write(statement.outcome)
                writer.member("later", statement.later)
            }
        } words: {
            ["true: \(VisibleText(check.conclusion).text)\(signature(isSigned(seen)))"]
        }
    }

    private func report(_ check: StoryCheck, _ seen: WitnessVerdicts?) throws {
        try report(check.findings, isSigned: publicKey != nil, seen) { writer in
            writer.member("story", true)
            writer.member("user", check.user)
            writer.member("item", check.item)
            writer.member("events", check.treeHead?.size ?? 0)
            writer.name("sentences")
            writer.beginArray()
            for sentence in check.sentences {
                writer.beginObject()
                writer.member("text", sentence.text)
                writer.member("source", sentence.source)
                writer.endObject()
            }
            writer.endArray()
        } words: {
            ["true: \(VisibleText(check.conclusion).text)\(signature(publicKey != nil))"]
                + check.sentences.map { VisibleText("  \($0.text) [\($0.source)]").text }
        }
    }

    private func report(_ check: HandedOutCheck, _ seen: WitnessVerdicts?) throws {
        let notProved = "not proved: \(check.findingCount.counted("finding"))"
        let proved = ProvedEventsText(check.firstEvents, of: check.provedEvents)
        try report(check.findings, isSigned: isSigned(seen), seen, notProved: notProved, proved: proved) { writer in
            writer.member("provedEvents", check.provedEvents)
            writer.member("disclosedEvents", check.disclosedEvents)
        } words: {
            ["true: \(words(check))", proof(check.heads, seen)]
        }
    }

    /// Whether a signature of each tree head was checked.
    private func isSigned(_ seen: WitnessVerdicts?) -> Bool { publicKey != nil || seen != nil }

    private func signature(_ isSigned: Bool) -> String { isSigned ? ", signed" : ", signature not looked at" }

    private func proof(_ heads: [TreeHead], _ seen: WitnessVerdicts?) -> String {
        let events = heads.map { $0.size.counted("event") }.joined(separator: ", ")
        return "by the tree head of \(events)\(signature(isSigned(seen)))"
    }

    private func words(_ check: HandedOutCheck) -> String {
        var parts: [String] = []
        if check.provedEvents > 0 {
            let hidden = check.provedEvents - check.disclosedEvents
            let rest = hidden == 0 ? " with all that it says" : ", \(hidden.grouped) by number, kind and times alone"
            parts.append("\(check.provedEvents.counted("event")) proved\(rest)")
        }
        if check.growths > 0 { parts.append("the log only grew") }
        return parts.isEmpty ? "no events" : parts.joined(separator: ", ")
    }
}

/// The lines of a file that somebody handed out.
private struct CheckedLines {
    struct Line {
        let text: [UInt8]
        /// A line feed, with the carriage return before it where it has one; empty at the end of a file without it.
        let end: [UInt8]

        var bytes: [UInt8] { text + end }
    }

    private var lines: LineReader

    /// - Parameter file: `-` is standard input.
    init(_ file: String) throws {
        let source = file == "-" ? Descriptor.standardInput : try Descriptor.reading(file)
        lines = LineReader(source, longestLine: Restorer.longestLine)
    }

    mutating func next() throws -> Line? {
        while true {
            let taken = lines.bytesTaken
            if let line = lines.takeLine() {
                guard case .whole(let range) = line else {
                    throw TraylogError.refused(.invalid(field: "line", reason: "is longer than 16 MiB"))
                }
                let end = range.upperBound..<range.lowerBound + lines.bytesTaken - taken
                return Line(text: Array(lines.bytes[range]), end: Array(lines.bytes[end]))
            }
            if lines.isAtEnd { return nil }
            try lines.fill()
        }
    }

    /// What is left, for a file of at most 1 MiB.
    mutating func rest() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let line = try next() {
            bytes += line.bytes
            guard bytes.count <= 1 << 20 else { break }
        }
        return bytes
    }
}
