import ArgumentParser
import TraylogCLibrary

@main
enum Program {
    static func main() {
        Descriptor.reserveStandardStreams()
        // A file that must not grow (`ulimit -f`) is a full disk, which has a message, and no reason to die.
        _ = signal(SIGXFSZ, SIG_IGN)
        let arguments = TypedArguments.ofProcess
        let options = arguments.options
        let wantsJSON = options.contains { $0 == "--json" || $0 == "--ack" }
        if let problem = arguments.problem {
            if arguments.isCompletion { exit(ExitStatus.done.rawValue) }
            Problem(usage: problem).report(json: wantsJSON)
            exit(ExitStatus.usage.rawValue)
        }
        if let problem = Suggestion.problem(ofHelp: Array(options)) {
            Problem(usage: problem).report(json: wantsJSON)
            exit(ExitStatus.usage.rawValue)
        }
        var command: any ParsableCommand
        do {
            // '-h' asks for help where it stands alone: the parser would find it in '-hugo', too, which may be a name.
            let asked = options.map { $0 == "-h" ? "--help" : $0 }
            command = try TraylogCommand.parseAsRoot(asked + arguments.words.dropFirst(options.count))
        } catch {
            end(with: error, json: wantsJSON)
        }
        do {
            try command.run()
        } catch {
            guard let problem = Problem(error, of: command) else { end(with: error, json: wantsJSON) }
            problem.report(json: wantsJSON)
            exit(problem.status.rawValue)
        }
    }

    /// A message of the parser, which does not say how a name that begins with a dash is given.
    private static func withAdvice(_ message: String) -> String {
        let message = Suggestion.improve(message, arguments: Array(TypedArguments.ofProcess.options))
        let isAboutNames = message.contains("Unknown option '-") || message.contains("Missing expected argument")
        let word = TypedArguments.ofProcess.options.first { $0.hasPrefix("-") && !$0.hasPrefix("--") && $0.count > 1 }
        guard isAboutNames, let word, word != "-h" else { return message }
        let end = message.firstIndex(of: "\n") ?? message.endIndex
        let advice = "a name that begins with '-' stands behind '--', after all options: -- \(word)"
        return "\(message[..<end]): \(advice)\(message[end...])"
    }

    /// Prints what the parser has to say: help, a version, what is wrong with the arguments, or nothing.
    private static func end(with error: any Error, json: Bool) -> Never {
        let status = TraylogCommand.exitCode(for: error).rawValue
        let message = withAdvice(TraylogCommand.fullMessage(for: error))
        if status != 0, json, !message.isEmpty {
            Problem(usage: withAdvice(TraylogCommand.message(for: error))).report(json: true)
        } else if !message.isEmpty {
            // One prefix for whatever is wrong; the parser has another.
            let isError = message.hasPrefix("Error: ")
            let message = isError ? "traylog: " + message.dropFirst("Error: ".count) : message
            let descriptor = status == 0 ? Descriptor.standardOutput : .standardError
            let terminal = Terminal(descriptor)
            let output = Output(descriptor)
            do throws(SystemFailure) {
                let columns = terminal.isLimited ? terminal.columns : 80
                try output.line(UsageText(message).text(columns: columns, isTerminal: terminal.isLimited))
                try output.flush()
            } catch {
                Problem(system: error).report(json: false)
                exit(ExitStatus.inputOutput.rawValue)
            }
        }
        exit(status)
    }
}
