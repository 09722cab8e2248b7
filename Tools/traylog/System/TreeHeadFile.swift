import Traylog

/// A tree head in a file that may hold several, one behind the other, as `tree-head --append` writes them.
struct TreeHeadFile {
    let path: String
    let text: String

    static func read(_ path: String) throws -> [TreeHeadFile] {
        split(try FileText.read(path)).map { TreeHeadFile(path: path, text: $0) }
    }

    /// Checkpoints end with their signatures, JSON with the line.
    static func split(_ text: String) -> [String] {
        var heads: [String] = []
        var head = ""
        var isSigned = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let isSignature = line.hasPrefix("\u{2014} ")
            if isSigned, !isSignature {
                heads.append(head)
                (head, isSigned) = ("", false)
            }
            if head.isEmpty, line.first == "{" {
                heads.append(String(line))
                continue
            }
            // Empty lines between tree heads.
            if head.isEmpty, line.isEmpty { continue }
            head += line + "\n"
            isSigned = isSignature
        }
        if !head.isEmpty { heads.append(head) }
        return heads.isEmpty ? [text] : heads
    }
}
