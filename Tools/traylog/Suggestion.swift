import ArgumentParser

/// What somebody may have meant who typed an option or a command that there is not.
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
            let word = quoted(in: String(message[place.upperBound...]), after: "'"), let near = nearest(word, names)
        else { return message }
        return "\(firstLine(message)). There is no command '\(word)'. Did you mean '\(near)'?\(rest(message))"
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
        let own = (synonyms[name] ?? []).first(where: options.contains) ?? nearest(name, options)
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

    /// The name that is at most two letters away from five, and so on.
    static func nearest(_ word: String, _ names: [String]) -> String? {
        let most = max(1, word.count * 2 / 5)
        return names.map { ($0, distance(word, $0)) }.filter { $0.1 <= most }.min { $0.1 < $1.1 }?.0
    }

    /// Letters to add, take away, change or exchange with their neighbour.
    static func distance(_ first: String, _ second: String) -> Int {
        let (a, b) = (Array(first), Array(second))
        var rows = [Array(0...b.count)]
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var least = min(rows[i][j] + (a[i] == b[j] ? 0 : 1), min(rows[i][j + 1], row[j]) + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { least = min(least, rows[i - 1][j - 1] + 1) }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }

    // MARK: Text

    private static func firstLine(_ message: String) -> Substring { message.prefix { $0 != "\n" } }

    private static func rest(_ message: String) -> Substring { message.drop { $0 != "\n" } }

    private static func quoted(in message: String, after start: String) -> String? {
        guard let place = message.firstRange(of: start) else { return nil }
        return String(message[place.upperBound...].prefix { $0 != "'" })
    }
}
