import ArgumentParser
import Traylog

extension CompletionKind {
    /// Names of users, from the store that the line names so far, or else the environment's.
    static var user: CompletionKind {
        .custom { words, _, prefix in
            UserCompletion(words: words, prefix: prefix, shell: CompletionShell.requesting).offers
        }
    }
}

/// The users whose names begin with what was typed.
///
/// A shell that asks gets names or nothing, never an error. A name is data, whatever it is: publishers choose names, and what a
/// shell would run or replace in one must reach it quoted.
struct UserCompletion {
    private static let most = 100

    /// As the shell has them: with their quotes.
    let words: [String]
    let prefix: String
    let shell: CompletionShell?

    /// The names as the shell's completion script takes them.
    var offers: [String] {
        names.compactMap { name in
            // A line is an offer, so a name of several would be several.
            guard !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
                return nil
            }
            return Self.offer(name, to: shell)
        }
    }

    private var names: [String] {
        guard let directory = directory ?? Environment.value(of: "TRAYLOG_STORE"),
            let reader = try? StoreReader.open(directory)
        else { return [] }
        defer { reader.blocking.close() }
        return (try? reader.blocking.users(prefix: ShellWord.text(of: prefix), limit: Self.most).elements) ?? []
    }

    private var directory: String? {
        for (index, word) in words.enumerated() {
            if word == "--store", index + 1 < words.count { return ShellWord.text(of: words[index + 1]) }
            if word.hasPrefix("--store=") { return ShellWord.text(of: String(word.dropFirst("--store=".count))) }
        }
        return nil
    }

    /// A name as a line of the answer to a completion script.
    ///
    /// - Parameter shell: nil for a caller that is no shell's script.
    static func offer(_ name: String, to shell: CompletionShell?) -> String {
        switch shell {
        // `compgen -W` splits and expands its words as the shell does: what stands in single quotes stays.
        case .bash?: "'" + name.replacing("'", with: #"'\''"#) + "'"
        // `_describe` takes what is behind a colon for a description.
        case .zsh?: name.replacing(#"\"#, with: #"\\"#).replacing(":", with: #"\:"#)
        default: name
        }
    }
}

/// A word as it stands in a line of a shell, with quotes and backslashes.
enum ShellWord {
    /// What the word means to the shell; variables and commands stay as they are, and a quote may be open at the end.
    static func text(of word: String) -> String {
        var text = String.UnicodeScalarView()
        var quote: Unicode.Scalar?
        var isEscaped = false
        for scalar in word.unicodeScalars {
            if isEscaped {
                // Between double quotes a backslash stands for itself before most characters.
                if quote == "\"", !#"$`"\"#.unicodeScalars.contains(scalar) { text.append("\\") }
                text.append(scalar)
                isEscaped = false
            } else if scalar == "\\", quote != "'" {
                isEscaped = true
            } else if scalar == quote {
                quote = nil
            } else if quote == nil, scalar == "'" || scalar == "\"" {
                quote = scalar
            } else {
                text.append(scalar)
            }
        }
        return String(text)
    }
}
