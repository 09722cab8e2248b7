import Foundation

/// A piece of the tests' own source that stands in a document, too.
///
/// It lies between the lines `// example: NAME` and `// end` and is compared without its indentation.
struct Example: Sendable {
    let name: String
    let text: String
    /// Of the file that it stands in.
    let imports: Set<String>

    init(name: String, text: String, imports: Set<String>) {
        self.name = name
        self.text = text
        self.imports = imports
    }

    /// The examples of a source text.
    static func all(in source: String) -> [Example] {
        let imports = Set(source.matches(of: /(?m)^import (\w+)$/).map { String($0.1) })
        return source.matches(of: /(?m)^ *\/\/ example: (.+)\n((?s:.*?))^ *\/\/ end$/).map { match in
            Example(name: String(match.1), text: dedented(String(match.2)), imports: imports)
        }
    }

    /// Whether a document's block is this example; the block may begin with imports that the tests' file has.
    func matches(_ block: String) -> Bool {
        let head = block.prefixMatch(of: /(?:import \w+\n)*\n?/).map { String($0.0) } ?? ""
        let wanted = head.matches(of: /import (\w+)/).map { String($0.1) }
        return imports.isSuperset(of: wanted) && block.dropFirst(head.count) == text
    }

    private static func dedented(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let indentation = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
        return lines.map { $0.dropFirst(indentation) }.joined(separator: "\n")
    }
}
