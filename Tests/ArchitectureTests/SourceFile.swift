import Foundation
import Testing

/// A file of this checkout, as text.
struct SourceFile: Sendable, CustomTestStringConvertible {
    /// From the top of the checkout, such as `Sources/Traylog/Store.swift`.
    let path: String
    let text: String
    let lines: [Substring]

    var testDescription: String { path }

    /// The folder below `Sources` (or `Tests`), which has the module's name.
    var module: String { String(path.split(separator: "/")[1]) }

    init(path: String, text: String) {
        self.path = path
        self.text = text
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// The modules that the file imports, in whatever form.
    var imports: [String] {
        let line =
            /^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|private|fileprivate)\s+)?import\s+(?:(?:struct|class|enum|protocol|func|var|let|typealias|actor)\s+)?(\w+)/
        return lines.compactMap { text in
            guard text.range(of: "import") != nil else { return nil }
            return text.firstMatch(of: line).map { String($0.1) }
        }
    }

    /// The lines that have one of `words` outside a comment, numbered from 1.
    func lines(with words: [String]) -> [(number: Int, code: Substring)] {
        guard words.contains(where: { text.range(of: $0) != nil }) else { return [] }
        return lines.enumerated().compactMap { index, line in
            guard words.contains(where: { line.range(of: $0) != nil }) else { return nil }
            // A scheme such as `https://` begins no comment.
            let comment = line.firstMatch(of: /(^|[^:])\/\//)
            let code = comment.map { line[..<$0.1.endIndex] } ?? line
            return words.contains { code.range(of: $0) != nil } ? (index + 1, code) : nil
        }
    }

    /// Whether a plain comment stands above the line, attributes in between or not, or opens the braces that the line
    /// opens.
    ///
    /// A doc comment is none: it says what something is, not why a promise about it holds.
    func hasReason(besideLine number: Int) -> Bool {
        let isReason = { (line: Substring) in line.contains(/^\s*\/\/(?!\/)\s*\S/) }
        let above = lines[..<(number - 1)].last { !$0.contains(/^\s*(@\w+(\([^)]*\))?\s*)+$/) }
        if let above, isReason(above) { return true }
        return lines[number - 1].hasSuffix("{") && number < lines.count && isReason(lines[number])
    }
}

extension SourceFile {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// All files of these types below `folder`, in path order; what a build left there is not looked at.
    static func all(below folder: String, types: Set<String> = ["swift"]) -> [SourceFile] {
        let top = root.appendingPathComponent(folder)
        let paths = FileManager.default.enumerator(
            at: top, includingPropertiesForKeys: nil, options: [.skipsHiddenFiles])
        let files = (paths?.allObjects as? [URL] ?? []).filter { types.contains($0.pathExtension) }
        return files.sorted { $0.path < $1.path }.compactMap { file in
            guard let text = try? String(contentsOf: file, encoding: .utf8) else { return nil }
            return SourceFile(path: String(file.path.dropFirst(root.path.count + 1)), text: text)
        }
    }
}
