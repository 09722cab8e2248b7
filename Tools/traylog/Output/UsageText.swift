/// What the parser says, with usage lines that fit: it wraps all other text itself.
struct UsageText {
    private let message: String

    init(_ message: String) { self.message = message }

    func text(columns: Int) -> String {
        message.split(separator: "\n", omittingEmptySubsequences: false)
            .map { Self.wrapped(String($0), columns: columns) }.joined(separator: "\n")
    }

    private static func wrapped(_ line: String, columns: Int) -> String {
        guard line.hasPrefix("USAGE: ") || line.hasPrefix("Usage: "), DisplayWidth.of(line) > columns else {
            return line
        }
        var lines = [""]
        for part in parts(of: line) {
            if !lines[lines.count - 1].isEmpty, DisplayWidth.of(lines[lines.count - 1] + " " + part) > columns {
                lines.append("        " + part)
            } else {
                lines[lines.count - 1] += (lines[lines.count - 1].isEmpty ? "" : " ") + part
            }
        }
        return lines.joined(separator: "\n")
    }

    /// Words, and what stands in brackets together.
    private static func parts(of line: String) -> [String] {
        var parts = [""]
        var depth = 0
        for character in line {
            if character == "[" { depth += 1 }
            if character == "]" { depth -= 1 }
            if character == " ", depth == 0 {
                parts.append("")
            } else {
                parts[parts.count - 1].append(character)
            }
        }
        // An option that must be there, and its value.
        return parts.reduce(into: []) { joined, part in
            if part.hasPrefix("<"), let last = joined.last, last.hasPrefix("--") {
                joined[joined.count - 1] += " " + part
            } else {
                joined.append(part)
            }
        }
    }
}
