import ArgumentParser

/// What the parser would take in another way than it was meant.
enum ArgumentCheck {
    /// Options that may stand more than once: flags, which say the same again, and those that gather values.
    static let repeatable: Set<String> = [
        "--ack", "--all", "--archived", "--awaiting", "--broadcast", "--clear", "--disclose", "--dry-run", "--follow",
        "--help",
        "--include-silent", "--incremental",
        "--json",
        "--keys", "--kind", "--newest-first", "--no-proofs", "--prometheus", "--rebuild", "--retain", "--save",
        "--silent",
        "--skip-damaged",
        "--skip-refused",
        "--snoozed", "--trays", "--tree-head", "--unread", "--unseen", "--unthreaded", "--verify", "--version",
        "--writer", "--yes",
    ]

    /// The same of one command, where others take one value.
    private static let repeatableIn: [String: Set<String>] = [
        "broadcast": ["--action"], "inbox": ["--category"], "notify": ["--action"],
    ]

    private static var commands: [String] {
        TraylogCommand.configuration.subcommands.compactMap { $0.configuration.commandName }
    }

    /// - Throws: `ValidationError` for a command that does not exist, for several letters behind one dash, and for an
    ///   option whose value would silently be lost.
    static func check(_ arguments: [String]) throws {
        let options = arguments.prefix { $0 != "--" }
        // The parser's own questions of a shell.
        guard !options.contains(where: { $0.hasPrefix("---") || $0.hasPrefix("--generate-") || $0.hasPrefix("--exp") })
        else { return }
        for option in options where option.hasPrefix("-") && !option.hasPrefix("--") && option.utf8.count > 2 {
            throw ValidationError("Unknown option '\(option)'. If it is no option, put '--' before it.")
        }
        let command = try checkCommand(Array(options))
        let repeatable = repeatable.union(command.flatMap { repeatableIn[$0] } ?? [])
        var seen: Set<Substring> = []
        for option in options where option.hasPrefix("--") {
            let name = option.prefix { $0 != "=" }
            guard seen.insert(name).inserted || repeatable.contains(String(name)) else {
                throw ValidationError("'\(name)' is given twice, but takes one value.")
            }
        }
    }

    /// - Returns: the command; nil where the arguments name none.
    private static func checkCommand(_ options: [String]) throws -> String? {
        var words: [String] = []
        var isValue = false
        for option in options {
            if isValue {
                isValue = false
            } else if option == "--store" || option == "--wait" {
                isValue = true
            } else if !option.hasPrefix("-") {
                words.append(option)
            }
        }
        let named = words.first == "help" ? words.dropFirst().first : words.first
        guard let named, !commands.contains(named) else { return named }
        let nearest = commands.min { distance($0, named) < distance($1, named) }
        let hint = nearest.flatMap { distance($0, named) <= 2 ? " Did you mean '\($0)'?" : nil } ?? ""
        throw ValidationError("Unknown command '\(named)'.\(hint)")
    }

    /// Letters to insert, take away, replace or swap with the next one.
    static func distance(_ left: String, _ right: String) -> Int {
        let (a, b) = (Array(left.utf8), Array(right.utf8.prefix(64)))
        var rows = [Array(0...b.count)]
        for i in 1...max(a.count, 1) where i <= a.count {
            var row = [i]
            for j in 0..<b.count {
                var best = min(row[j] + 1, rows[i - 1][j + 1] + 1, rows[i - 1][j] + (a[i - 1] == b[j] ? 0 : 1))
                if i > 1, j > 0, a[i - 1] == b[j - 1], a[i - 2] == b[j] { best = min(best, rows[i - 2][j - 1] + 1) }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}
