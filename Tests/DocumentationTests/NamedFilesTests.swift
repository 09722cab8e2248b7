import Foundation
import Testing

/// Files that the documents name exist, and three usual changes need no more of them than promised.
struct NamedFilesTests {
    /// Swift files of the checkout, from `Sources`, `Tests` or `Tools` on.
    private static let files: [String] = ["Sources", "Tests", "Tools"].flatMap { folder in
        let all = FileManager.default.enumerator(
            at: Document.root.appendingPathComponent(folder), includingPropertiesForKeys: nil,
            options: [.skipsHiddenFiles])
        return (all?.allObjects as? [URL] ?? []).map { String($0.path.dropFirst(Document.root.path.count + 1)) }
            .filter { $0.hasSuffix(".swift") }
    }

    /// Names such as `TraylogLog/EventLog.swift`: the module may be left out, and so may folders between.
    private static func names(in text: some StringProtocol) -> [String] {
        String(text).matches(of: /`([\w+\/]+\.swift)`/).map { String($0.1) }
    }

    private static func exists(_ name: String) -> Bool {
        let parts = name.split(separator: "/")
        return files.contains { file in
            let path = file.split(separator: "/")
            return path.last == parts.last && parts.dropLast().allSatisfy(path.dropLast().contains)
        }
    }

    @Test(arguments: ["Docs/internals/architecture.md", "CONTRIBUTING.md"])
    func theFilesAreThere(path: String) throws {
        let document = try #require(Document.all.first { $0.path == path })
        let names = Self.names(in: document.text)
        #expect(names.count > 20)
        for name in names { #expect(Self.exists(name), "\(path): \(name)") }
    }

    @Test(arguments: [("A rule of the fold", 8), ("A column of a stored state", 12), ("A step of compaction", 20)])
    func aUsualChangeNeedsFewFiles(change: String, most: Int) throws {
        let guide = try #require(Document.all.first { $0.path == "CONTRIBUTING.md" })
        let start = try #require(guide.text.range(of: "**\(change)**")).upperBound
        let table = guide.text[start...].split(separator: "\n\n").dropFirst().first ?? ""
        let rows = table.split(separator: "\n").dropFirst(2).compactMap { $0.split(separator: "|").first }
        let named = rows.flatMap { $0.matches(of: /`[^`]+`/) }.count
        #expect((1...most).contains(named), "\(change): \(named) files")
    }

    @Test func theArchitectureNamesEightFilesToReadFirst() throws {
        let page = try #require(Document.all.first { $0.path == "Docs/internals/architecture.md" })
        let section = page.text.split(separator: "\n## ").first { $0.hasPrefix("Read these eight files first") }
        #expect(Set(Self.names(in: section ?? "")).count == 8)
    }
}
