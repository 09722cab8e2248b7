import ArgumentParser
@_spi(Operations) import Traylog

/// The option or command that somebody probably meant who mistyped one.
///
/// The parser suggests the nearest name however far it is; a wrong suggestion is worse than none.
enum Suggestion {
    /// Options that other programs, and other commands of this one, call otherwise.
    private static let synonyms = [
        "since": ["from"], "until": ["to"], "from": ["since"], "to": ["until"], "at": ["as-of"],
        "time": ["as-of", "now"],
        "count": ["limit"], "max": ["limit"], "n": ["limit"], "format": ["json"], "output": ["html", "json"],
        "dir": ["store"],
        "directory": ["store"], "db": ["store"], "path": ["store"], "search": ["text"], "query": ["text"],
        "by": ["actor"],
    ]

    /// The parser's message with a suggestion that helps, or without one.
    static func improve(_ message: String, arguments: [String]) -> String {
        if let name = quoted(in: message, after: "Unknown option '--") {
            return replacing(message, unknown: name, in: command(of: arguments))
        }
        let isOfNoCommand = !arguments.contains(where: names.contains)
        guard isOfNoCommand, let place = message.lowercased().firstRange(of: "unexpected argument"),
            let word = quoted(in: String(message[place.upperBound...]), after: "'"),
            let near = NearestName.of(word, among: names)
        else { return message }
        return "\(firstLine(message)). There is no command '\(word)'. Did you mean '\(near)'?\(rest(message))"
    }

    /// What is wrong with `help COMMAND` for a command that there is not: the parser would show the overview, as if all were well.
    static func problem(ofHelp arguments: [String]) -> String? {
        guard arguments.first == "help", let word = arguments.dropFirst().first(where: { !$0.hasPrefix("-") }),
            word != "help", !names.contains(word)
        else { return nil }
        let near = NearestName.of(word, among: names).map { " Did you mean '\($0)'?" } ?? ""
        return "There is no command '\(word)'.\(near) 'traylog help' lists all."
    }

    private static func replacing(_ message: String, unknown name: String, in command: any ParsableCommand.Type)
        -> String
    {
        var line = String(firstLine(message))
        if let place = line.firstRange(of: " Did you mean") { line = String(line[..<place.lowerBound]) }
        let help = TraylogCommand.helpMessage(for: command, columns: 100)
        let options = help.split { !("a"..."z" ~= $0 || $0 == "-") }.filter { $0.hasPrefix("--") }.map {
            String($0.dropFirst(2))
        }
        let own = (synonyms[name] ?? []).first(where: options.contains) ?? NearestName.of(name, among: options)
        return line + (own.map { " Did you mean '--\($0)'?" } ?? "") + rest(message)
    }

    private static var names: [String] {
        TraylogCommand.configuration.groupedSubcommands.flatMap(\.subcommands).compactMap {
            $0.configuration.commandName
        }
    }

    private static func command(of arguments: [String]) -> any ParsableCommand.Type {
        TraylogCommand.configuration.groupedSubcommands.flatMap(\.subcommands).first { command in
            command.configuration.commandName.map(arguments.contains) ?? false
        } ?? TraylogCommand.self
    }

    // MARK: Text

    private static func firstLine(_ message: String) -> Substring { message.prefix { $0 != "\n" } }

    private static func rest(_ message: String) -> Substring { message.drop { $0 != "\n" } }

    private static func quoted(in message: String, after start: String) -> String? {
        guard let place = message.firstRange(of: start) else { return nil }
        return String(message[place.upperBound...].prefix { $0 != "'" })
    }
}
