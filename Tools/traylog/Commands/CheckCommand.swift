import ArgumentParser
import TerminalText
@_spi(Operations) import Traylog

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a proof, a report or a person's file, without a store.",
        discussion: """
            FILE is what 'prove --json', 'prove-consistency --json' or 'audit --json' printed, or the dossier.jsonl of \
            'dossier'. Everything in it is compared with a tree head that was kept elsewhere; with --public-key the \
            signature is checked, too. Exit status 1 says what is wrong, each finding on a line.

            A report shows what events say. That is proved if it has salt and payload ('audit --disclose'); otherwise \
            only number, kind and times are.

            EXAMPLES
              traylog check proof.json --tree-head checkpoint --public-key audit.key.pub
              traylog check alice.jsonl --tree-head head.json --json
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "A proof, a report or a person's file, or - for standard input.", completion: .file())
    var file: String

    @Option(
        help: ArgumentHelp("A tree head that was kept elsewhere; may be given several times.", valueName: "file"),
        completion: .file())
    var treeHead: [String] = []

    @Option(
        help: ArgumentHelp("The public key that must have signed each of them.", valueName: "file"), completion: .file()
    )
    var publicKey: String?

    func validate() throws {
        guard !treeHead.isEmpty else {
            throw ValidationError("Missing '--tree-head <file>': a proof proves something only against a tree head.")
        }
    }

    func run() throws {
        let source = file == "-" ? Descriptor.standardInput : try Descriptor.reading(file)
        let heads = try treeHead.flatMap { try TreeHeadFile.read($0) }
        let key = try publicKey.map { try KeyFile.publicKey($0) }
        var check = try HandedOutCheck(treeHeads: heads.map(\.text), publicKey: key)
        try read(source, into: &check)
        try report(check)
        if !check.findings.isEmpty { throw ExitCode(ExitStatus.difference.rawValue) }
    }

    private func read(_ source: Descriptor, into check: inout HandedOutCheck) throws {
        var lines = LineReader(source, longestLine: Restorer.longestLine)
        while true {
            while let line = lines.takeLine() {
                guard case .whole(let range) = line else {
                    throw TraylogError.refused(.invalid(field: "line", reason: "is longer than 16 MiB"))
                }
                check.add(Array(lines.bytes[range]))
            }
            if lines.isAtEnd { break }
            try lines.fill()
        }
        check.finish()
    }

    private func report(_ check: HandedOutCheck) throws {
        let output = Output(.standardOutput)
        if global.json {
            try output.json { writer in
                writer.beginObject()
                writer.member("ok", check.findings.isEmpty)
                writer.member("provedEvents", check.provedEvents)
                writer.member("disclosedEvents", check.disclosedEvents)
                writer.member("signed", publicKey != nil && check.findings.isEmpty)
                writer.name("findings")
                writer.beginArray()
                for finding in check.findings { writer.value(finding) }
                writer.endArray()
                writer.endObject()
            }
        } else {
            for finding in check.findings { try output.line(VisibleText(finding).text) }
            let signature = publicKey == nil ? ", signature not looked at" : ", signed"
            let sizes = check.heads.map { $0.size.counted("event") }.joined(separator: ", ")
            if check.findings.isEmpty {
                try output.lines(["true: \(words(check))", "by the tree head of \(sizes)\(signature)"])
            } else {
                try output.line("not proved: \(check.findings.count.counted("finding"))")
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
