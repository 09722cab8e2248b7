import ArgumentParser
import TerminalText
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
            What is 'stated' rests on none: that something never happened, and that no other event changed the item, is said \
            by the owner of the log, so only --public-key shows who says it.

            --complete checks what 'audit --complete' or 'dossier' wrote: that no event of the user is left out and no \
            event of the user's topics, and that every count and item follows from these events and from no others. \
            The tree head must be that of the file's last event ('tree-head --as-of').

            --witness-policy names a C2SP policy file: each tree head must be signed by one of its logs and cosigned by a \
            quorum of its witnesses, so that nobody else was shown another log. FILE may also be a C2SP tlog-proof, as \
            'prove --tlog-proof' prints it; it has its own tree head.

            EXAMPLES
              traylog check event-17.tlog-proof --witness-policy policy
              traylog check proof.json --tree-head checkpoint --public-key audit.key.pub
              traylog check alice.jsonl --tree-head head.json --json
              traylog check story-17.html --public-key audit.key.pub
              traylog check alice.jsonl --complete --tree-head head.json
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
        "Missing '--tree-head <file>': a proof proves something only against a tree head.")

    func run() throws {
        let key = try publicKey.map { try KeyFile.publicKey($0) }
        let policy = try witnessPolicy.map { try PolicyFile.read($0) }
        if treeHead.isEmpty, let policy { return try checkLogProof(policy, key) }
        let source = file == "-" ? Descriptor.standardInput : try Descriptor.reading(file)
        let heads = try treeHead.flatMap { try TreeHeadFile.read($0) }
        let verdicts = try policy.map { WitnessVerdicts($0, try heads.map { try KeptTreeHead($0.text) }, key) }
        if let verdicts, !verdicts.findings.isEmpty { return try report(verdicts.findings) }
        if complete {
            guard !heads.isEmpty else { throw Self.missingHead }
            var check = try CompleteCheck(treeHeads: heads.map(\.text), publicKey: key)
            try read(source) { line, _ in check.add(line) }
            check.finish()
            try report(check, verdicts)
            if !check.findings.isEmpty { throw ExitCode(ExitStatus.difference.rawValue) }
            return
        }
        var check = try HandedOutCheck(treeHeads: heads.map(\.text), publicKey: key)
        var decision: DecisionCheck?
        var story: StoryCheck?
        var isFirst = true
        try read(source) { line, end in
            if isFirst, StoryCheck.isStory(line) {
                story = try StoryCheck(treeHeads: heads.map(\.text), publicKey: key)
            } else if isFirst {
                guard !heads.isEmpty else { throw Self.missingHead }
                if DecisionCheck.isDecision(line) {
                    decision = try DecisionCheck(treeHeads: heads.map(\.text), publicKey: key)
                }
            }
            isFirst = false
            if story != nil {
                story?.add(line + end)
            } else if decision != nil {
                decision?.add(line)
            } else {
                check.add(line)
            }
        }
        if var story {
            story.finish()
            try report(story, verdicts)
            if !story.findings.isEmpty { throw ExitCode(ExitStatus.difference.rawValue) }
            return
        }
        if var decision {
            decision.finish()
            try report(decision, verdicts)
            if !decision.findings.isEmpty { throw ExitCode(ExitStatus.difference.rawValue) }
            return
        }
        check.finish()
        try report(check, verdicts)
        if !check.findings.isEmpty { throw ExitCode(ExitStatus.difference.rawValue) }
    }

    /// A proof that has its own tree head.
    private func checkLogProof(_ policy: WitnessPolicy, _ key: NotePublicKey?) throws {
        let bytes = try FileText.bytes(file)
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
        let output = Output(.standardOutput)
        if global.json {
            try output.json { writer in
                writer.beginObject()
                writer.member("ok", true)
                writer.member("provedEvents", 1)
                writer.member("disclosedEvents", 0)
                writer.member("seq", event.seq)
                writer.member("signed", true)
                write(verdicts, to: &writer)
                writer.name("findings")
                writer.beginArray()
                writer.endArray()
                writer.endObject()
            }
        } else {
            try output.line("true: event \(event.seq) proved by number, kind and times alone")
            try output.line("by the tree head of \(event.head.size.counted("event")), signed")
            for words in verdicts.words { try output.line(VisibleText(words).text) }
        }
        try output.flush()
    }

    /// What is wrong with the tree heads; nothing is checked against those.
    private func report(_ findings: [String]) throws {
        let output = Output(.standardOutput)
        if global.json {
            try output.json { writer in
                writer.beginObject()
                writer.member("ok", false)
                writer.member("signed", false)
                writer.name("findings")
                writer.beginArray()
                for finding in findings { writer.value(finding) }
                writer.endArray()
                writer.endObject()
            }
        } else {
            for finding in findings { try output.line(VisibleText(finding).text) }
            try output.line("not proved: \(findings.count.counted("finding"))")
        }
        try output.flush()
        throw ExitCode(ExitStatus.difference.rawValue)
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

    /// Lends each line, and the carriage return before its line feed where it has one.
    private func read(_ source: Descriptor, _ take: (_ line: [UInt8], _ end: [UInt8]) throws -> Void) throws {
        var lines = LineReader(source, longestLine: Restorer.longestLine)
        while true {
            var taken = lines.bytesTaken
            while let line = lines.takeLine() {
                guard case .whole(let range) = line else {
                    throw TraylogError.refused(.invalid(field: "line", reason: "is longer than 16 MiB"))
                }
                let hasReturn = lines.bytesTaken - taken == range.count + 2
                taken = lines.bytesTaken
                try take(Array(lines.bytes[range]), hasReturn ? [0x0D] : [])
            }
            if lines.isAtEnd { break }
            try lines.fill()
        }
    }

    private func report(_ check: CompleteCheck, _ seen: WitnessVerdicts?) throws {
        let output = Output(.standardOutput)
        if global.json {
            try output.json { writer in
                writer.beginObject()
                writer.member("ok", check.findings.isEmpty)
                writer.member("complete", check.findings.isEmpty)
                writer.member("user", check.user)
                writer.member("revision", check.revision)
                writer.member("erasedEvents", check.erasedEvents)
                writer.member("topicEvents", check.topicEvents)
                writer.member("provedEvents", check.provedEvents.all)
                writer.member("disclosedEvents", check.provedEvents.disclosed)
                writer.member("signed", isSigned(seen) && check.findings.isEmpty)
                if check.findings.isEmpty { write(seen, to: &writer) }
                writer.name("findings")
                writer.beginArray()
                for finding in check.findings { writer.value(finding) }
                writer.endArray()
                writer.endObject()
            }
        } else if check.findings.isEmpty {
            try output.lines(
                ["complete: \(VisibleText(check.conclusion).text)", proof(check.heads, seen)] + words(seen))
        } else {
            for finding in check.findings { try output.line(VisibleText(finding).text) }
            try output.line("not proved to be complete")
        }
        try output.flush()
    }

    private func report(_ check: DecisionCheck, _ seen: WitnessVerdicts?) throws {
        let output = Output(.standardOutput)
        if global.json {
            try output.json { writer in
                writer.beginObject()
                writer.member("ok", check.findings.isEmpty)
                writer.member("decision", true)
                if let statement = check.statement {
                    writer.member("user", statement.user)
                    writer.member("item", statement.item)
                    writer.member("title", statement.content.title)
                    writer.name("outcome")
                    writer.write(statement.outcome)
                    writer.member("later", statement.later)
                }
                writer.member("signed", isSigned(seen) && check.findings.isEmpty)
                if check.findings.isEmpty { write(seen, to: &writer) }
                writer.name("findings")
                writer.beginArray()
                for finding in check.findings { writer.value(finding) }
                writer.endArray()
                writer.endObject()
            }
        } else if check.findings.isEmpty {
            let signature = isSigned(seen) ? "signed" : "signature not looked at"
            try output.lines(["true: \(VisibleText(check.conclusion).text), \(signature)"] + words(seen))
        } else {
            for finding in check.findings { try output.line(VisibleText(finding).text) }
            try output.line("not proved: \(check.findings.count.counted("finding"))")
        }
        try output.flush()
    }

    private func report(_ check: StoryCheck, _ seen: WitnessVerdicts?) throws {
        let output = Output(.standardOutput)
        if global.json {
            try output.json { writer in
                writer.beginObject()
                writer.member("ok", check.findings.isEmpty)
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
                writer.member("signed", publicKey != nil && check.findings.isEmpty)
                if check.findings.isEmpty { write(seen, to: &writer) }
                writer.name("findings")
                writer.beginArray()
                for finding in check.findings { writer.value(finding) }
                writer.endArray()
                writer.endObject()
            }
        } else if check.findings.isEmpty {
            let signature = publicKey != nil ? "signed" : "signature not looked at"
            try output.lines(["true: \(VisibleText(check.conclusion).text), \(signature)"] + words(seen))
        } else {
            for finding in check.findings { try output.line(VisibleText(finding).text) }
            try output.line("not proved: \(check.findings.count.counted("finding"))")
        }
        try output.flush()
    }

    /// Whether a signature of each tree head was checked.
    private func isSigned(_ seen: WitnessVerdicts?) -> Bool { publicKey != nil || seen != nil }

    private func words(_ seen: WitnessVerdicts?) -> [String] { (seen?.words ?? []).map { VisibleText($0).text } }

    private func proof(_ heads: [TreeHead], _ seen: WitnessVerdicts?) -> String {
        let signature = isSigned(seen) ? ", signed" : ", signature not looked at"
        return "by the tree head of \(heads.map { $0.size.counted("event") }.joined(separator: ", "))\(signature)"
    }

    private func report(_ check: HandedOutCheck, _ seen: WitnessVerdicts?) throws {
        let output = Output(.standardOutput)
        if global.json {
            try output.json { writer in
                writer.beginObject()
                writer.member("ok", check.findings.isEmpty)
                writer.member("provedEvents", check.provedEvents)
                writer.member("disclosedEvents", check.disclosedEvents)
                writer.member("signed", isSigned(seen) && check.findings.isEmpty)
                if check.findings.isEmpty { write(seen, to: &writer) }
                writer.name("findings")
                writer.beginArray()
                for finding in check.findings { writer.value(finding) }
                writer.endArray()
                writer.endObject()
            }
        } else {
            for finding in check.findings { try output.line(VisibleText(finding).text) }
            if check.findings.isEmpty {
                try output.lines(["true: \(words(check))", proof(check.heads, seen)] + words(seen))
            } else {
                try output.line("not proved: \(check.findingCount.counted("finding"))")
            }
        }
        try output.flush()
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
