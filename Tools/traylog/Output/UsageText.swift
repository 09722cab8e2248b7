import TerminalText

/// Wraps usage, errors and their help, so that their lines fit a terminal.
///
/// The parser wraps all other text itself.
struct UsageText {
    private let message: String

    init(_ message: String) { self.message = message }

    /// - Parameter isTerminal: whether somebody looks at it; in a pipe, only lines of usage are wrapped.
    func text(columns: Int, isTerminal: Bool) -> String {
        message.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in
                let isUsage = line.hasPrefix("USAGE: ") || line.hasPrefix("Usage: ")
                return isUsage || isTerminal ? Self.wrapped(String(line), columns: columns, isUsage) : String(line)
            }
            .joined(separator: "\n")
    }

    private static func wrapped(_ line: String, columns: Int, _ isUsage: Bool) -> String {
        guard DisplayWidth.of(line) > columns else { return line }
        let label = line.prefix { $0 != " " }
        let indent = String(repeating: " ", count: isUsage ? 8 : label.hasSuffix(":") ? max(7, label.count + 1) : 0)
        var lines = [""]
        for part in isUsage ? options(of: line) : parts(of: line) {
            if !lines[lines.count - 1].isEmpty, DisplayWidth.of(lines[lines.count - 1] + " " + part) > columns {
                lines.append(indent + part)
            } else {
                lines[lines.count - 1] += (lines[lines.count - 1].isEmpty ? "" : " ") + part
            }
        }
        return lines.joined(separator: "\n")
    }

    /// Words, and what stands in brackets or quotes together: commands that somebody copies.
    private static func parts(of line: String) -> [String] {
        var parts = [""]
        var depth = 0
        var isQuoted = false
        for character in line {
            if character == "[" { depth += 1 }
            if character == "]" { depth -= 1 }
            if character == "`" { isQuoted.toggle() }
            if character == " ", depth <= 0, !isQuoted {
                parts.append("")
            } else {
                parts[parts.count - 1].append(character)
            }
        }
        return parts
    }

    /// The same, with each option that must be there beside its value.
    private static func options(of line: String) -> [String] {
        parts(of: line).reduce(into: []) { joined, part in
            if part.hasPrefix("<"), let last = joined.last, last.hasPrefix("--") {
                joined[joined.count - 1] += " " + part
            } else {
                joined.append(part)
            }
        }
    }
}
