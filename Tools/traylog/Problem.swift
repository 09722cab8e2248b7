import ArgumentParser
@_spi(JSON) @_spi(Operations) import Traylog
@_spi(JSON) import TraylogJSON

/// The exit status and the message of an error.
///
/// Statuses of findings (1) and of the parser (64) are set where they are met.
struct Problem: Error {
    let status: ExitStatus
    /// The name that JSON carries as `error`.
    let name: String
    /// Without the program's name in front.
    private(set) var message: String
    let refusal: Refusal?
    /// The line of the input that was refused.
    let line: Int?
    /// The message for JSON, where it is another one.
    private var words: String?

    /// A refusal in words of the program's own.
    init(refusal: Refusal, words: String) {
        self.init(.refused, refusal.code.rawValue, "\(refusal.code.rawValue): \(words)")
        self.words = words
    }

    /// - Parameter hasUser: whether the command names a user; those about broadcasts do not.
    init(refusal: Refusal, line: Int? = nil, hasUser: Bool = true, of command: (any ParsableCommand)? = nil) {
        status = .refused
        name = refusal.code.rawValue
        message = (line.map { "line \($0): " } ?? "") + Self.words(refusal, hasUser: hasUser, of: command)
        self.refusal = refusal
        self.line = line
    }

    /// The refusal, with the option that a person gave in place of the library's field.
    private static func words(_ refusal: Refusal, hasUser: Bool, of command: (any ParsableCommand)?) -> String {
        if !hasUser, case .unknownItem(let item) = refusal {
            switch item {
            case .seq(let seq):
                return "\(refusal.code.rawValue): event \(seq) is no broadcast; 'traylog show \(seq)' says what it is"
            case .key(let key): return "\(refusal.code.rawValue): no broadcast carried the key \"\(key)\"; give its seq"
            }
        }
        if case .unknownItem(.seq(let seq)) = refusal, command is any Verb {
            return "\(refusal); if \(seq) is its key, add '--keys'"
        }
        if case .notUndoable(let seq, let kind) = refusal {
            return
                "\(refusal.code.rawValue): event \(seq) is of the kind \(kind.rawValue); only 'see', 'mark' and 'mark-all' can be undone"
        }
        guard case .upToBeyondHead(let seq, let head, let field) = refusal, field != "upTo" else {
            return refusal.description
        }
        let asOf = command is ProveConsistencyCommand ? "size" : "--as-of"
        let others = ["to": "--to", "from": "--from", "before": "--before", "cursor": "--cursor"]
        let option = field == "asOf" ? asOf : others[field] ?? field
        return "\(refusal.code.rawValue): \(option) \(seq) is beyond the head, which is \(head)"
    }

    init(failure: StoreFailure, of command: (any ParsableCommand)? = nil) {
        let command = command as? any StoreCommand
        var message = Self.advice(on: failure, command).flatMap(failure.message(advising:)) ?? failure.message
        if failure.code == .mapFull {
            message += " The program asks for what StoreOptions has by default."
        }
        if let command { message = NextStep.complete(message, store: command.directory) }
        self.init(ExitStatus(failure.code), failure.code.rawValue, message)
    }

    /// Advice for a person at a terminal, in place of the library's for programmers.
    private static func advice(on failure: StoreFailure, _ command: (any StoreCommand)?) -> String? {
        switch failure.code {
        case .notFound:
            "Check --store (or TRAYLOG_STORE); commands that write, such as 'notify' and 'append', create one."
        // Only memory that is missing for the map has advice with this code.
        case .inputOutput: "Raise `ulimit -v`."
        case .openForWriting:
            command.flatMap { RunningServer(of: $0.directory) == nil ? nil : request(for: $0) }
                .map { "It is a server: send it \($0), or end it." } ?? "End it, or wait for it with '--wait'."
        default: nil
        }
    }

    /// A file that is in the way, and is not ours to replace.
    init(occupied path: String, advice: String) {
        self.init(.inputOutput, StoreFailure.Code.unusableTarget.rawValue, "\(path) exists: \(advice)")
    }

    init(system: SystemFailure) { self.init(.inputOutput, StoreFailure.Code.inputOutput.rawValue, system.message) }

    /// What a running server answered in place of what it was asked for.
    init(server status: Int, name: String?, message: String) {
        let own: ExitStatus = Refusal.Code.httpStatuses.contains(status) ? .refused : .inputOutput
        self.init(own, name ?? "server", own == .refused ? "\(name ?? "refused"): \(message)" : message)
    }

    /// Arguments that cannot be understood.
    init(usage message: String) { self.init(.usage, "usage", message) }

    private init(_ status: ExitStatus, _ name: String, _ message: String) {
        self.status = status
        self.name = name
        self.message = message
        refusal = nil
        line = nil
    }

    /// The problem of an error; nil for errors that the argument parser reports.
    init?(_ error: any Error, of command: any ParsableCommand) {
        switch error {
        case TraylogError.refused(let refusal):
            self.init(refusal: refusal, hasUser: (command as? any Verb).map { $0.tray != nil } ?? true, of: command)
        case TraylogError.failed(let failure): self.init(failure: failure, of: command)
        case let failure as SystemFailure: self.init(system: failure)
        case let problem as Problem: self = problem
        default: return nil
        }
    }

    /// The request that does at a server what a command does at a store; nil where no server does it.
    private static func request(for command: any StoreCommand) -> String? {
        switch command {
        case is EraseCommand: "POST /v1/admin/erasures (its console has that under Operations)"
        case is CompactCommand: "POST /v1/admin/compactions (its console has that under Operations)"
        case is TickCommand: "POST /v1/admin/ticks"
        case is any Verb, is AppendCommand: "the command with POST /v1/commands"
        default: nil
        }
    }

    /// One line on standard error: JSON when JSON was asked for, else text.
    func report(json: Bool) {
        let output = Output(.standardError)
        // Nothing is left to report to when this fails.
        if json, let refusal {
            try? output.json { $0.write(refusal, line: line) }
        } else if json {
            try? output.json { writer in
                writer.beginObject()
                writer.member("error", name)
                writer.member("message", words ?? message)
                writer.endObject()
            }
        } else {
            let terminal = Terminal(.standardError)
            let text = "traylog: \(VisibleText(message).text)"
            try? output.line(UsageText(text).text(columns: terminal.columns, isTerminal: terminal.isLimited))
        }
        try? output.flush()
    }
}
