import Foundation
import Testing

/// The source files that documents name exist.
struct NamedFilesTests {
    /// Files of the checkout, from `Sources`, `Tests` or `Tools` on.
    private static let files: [String] = ["Sources", "Tests", "Tools"].flatMap { folder in
        let all = FileManager.default.enumerator(
            at: Document.root.appendingPathComponent(folder), includingPropertiesForKeys: nil,
            options: [.skipsHiddenFiles])
        return (all?.allObjects as? [URL] ?? []).map { String($0.path.dropFirst(Document.root.path.count + 1)) }
    }

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
}
