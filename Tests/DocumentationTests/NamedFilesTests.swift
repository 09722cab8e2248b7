import Foundation
import Testing

/// The source files and tests that documents name exist.
struct NamedFilesTests {
    /// Files of the checkout, from `Sources`, `Tests` or `Tools` on.
    private static let files: [String] = ["Sources", "Tests", "Tools"].flatMap { folder in
        let all = FileManager.default.enumerator(
            at: Document.root.appendingPathComponent(folder), includingPropertiesForKeys: nil,
            options: [.skipsHiddenFiles])
        return (all?.allObjects as? [URL] ?? []).map { String($0.path.dropFirst(Document.root.path.count + 1)) }
    }

    /// The Swift and Python sources of all tests.
    private static let tests: String = files.filter { file in
        let isTest = file.hasPrefix("Tests/") || file.hasPrefix("Tools/Server/Tests/")
        return isTest && (file.hasSuffix(".swift") || file.hasSuffix(".py"))
    }.compactMap { try? String(contentsOf: Document.root.appendingPathComponent($0), encoding: .utf8) }.joined()

    /// Whether a file ends with this path; folders between its parts may be left out.
    private static func exists(_ name: String) -> Bool {
        let parts = name.split(separator: "/")
        return files.contains { file in
            let path = file.split(separator: "/")
            return path.last == parts.last && parts.dropLast().allSatisfy(path.dropLast().contains)
        }
    }

    @Test(arguments: Document.all.filter { $0.path.hasPrefix("Docs/internals/") || $0.path == "CONTRIBUTING.md" })
    func everySwiftFileThatADocumentNamesExists(document: Document) {
        for match in document.text.matches(of: /`([\w+\/]+\.swift)`/) {
            #expect(Self.exists(String(match.1)), "\(document.path): \(match.1)")
        }
    }

    /// A name may end with `…`, where its beginning is enough to find it.
    @Test func everyTestNamedByTheReliabilityPageExists() throws {
        let page = try #require(Document.all.first { $0.path == "Docs/internals/reliability.md" })
        let cells = page.text.matches(of: /(?m)^\|([^|\n]+)\|([^|\n]+)\|/).map { String($0.2) }
        let names = cells.flatMap { $0.matches(of: /`([^`]+)`/).map { String($0.1) } }
        #expect(!names.isEmpty)
        for name in names {
            let isPrefix = name.hasSuffix("…")
            let start = isPrefix ? String(name.dropLast()) : name
            let isThere =
                if name.contains("/") || name.hasSuffix(".py") {
                    Self.exists(name)
                } else if name.hasPrefix("test_") {
                    Self.tests.contains("def \(start)\(isPrefix ? "" : "(")")
                } else if name.first?.isUppercase == true {
                    Self.tests.contains("struct \(start) ") || Self.tests.contains("class \(start)")
                } else {
                    Self.tests.contains("func \(start)\(isPrefix ? "" : "(")")
                }
            #expect(isThere, "no test is called \(name)")
        }
    }
}
