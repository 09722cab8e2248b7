@_spi(Operations) import Traylog

/// A tree head in a file that may hold several, one behind the other, as `tree-head --append` writes them.
struct TreeHeadFile {
    let path: String
    let text: String

    static func read(_ path: String) throws -> [TreeHeadFile] {
        split(try FileText.read(path)).map { TreeHeadFile(path: path, text: $0) }
    }

    /// What the text says.
    ///
    /// - Throws: ``TraylogError/refused(_:)``: `invalid` of the file.
    func kept() throws(TraylogError) -> KeptTreeHead {
        do throws(TraylogError) {
            return try KeptTreeHead(text)
        } catch {
            guard case .refused(.invalid(_, let reason)) = error else { throw error }
            throw TraylogError.refused(
                .invalid(field: path, reason: "holds no tree head, as 'traylog tree-head' prints it: \(reason)"))
        }
    }

    /// Checkpoints end with their signatures, JSON with the line, the form for people with its second line.
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
            let isSecond = KeptTreeHead.isPlain(head)
            head += line + "\n"
            if isSecond {
                heads.append(head)
                head = ""
            } else {
                isSigned = isSignature
            }
        }
        if !head.isEmpty { heads.append(head) }
        return heads.isEmpty ? [text] : heads
    }
}
