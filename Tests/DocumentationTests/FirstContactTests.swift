import Foundation
import Testing

/// The tables of Docs/first-contact.md name tests that are there.
@Suite struct FirstContactTests {
    @Test func everyPointHasItsTest() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(
            contentsOf: root.deletingLastPathComponent().appending(path: "Docs/first-contact.md"), encoding: .utf8)
        let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        let swift = (files?.allObjects as? [URL] ?? []).filter { $0.pathExtension == "swift" }
        let tests = try swift.map { try String(contentsOf: $0, encoding: .utf8) }.joined()
        var rows = 0
        for line in text.split(separator: "\n") where line.hasPrefix("|") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 3, cells[2] != "test", !cells[2].hasPrefix("---") else { continue }
            rows += 1
            let names = cells[2].matches(of: /`(\w+)`/).map { String($0.1) }
            #expect(!names.isEmpty || cells[2].contains(".swift"), "\(line)")
            for name in names {
                #expect(tests.contains("func \(name)(") || tests.contains("struct \(name) "), "\(name)")
            }
        }
        #expect(rows == 53)
    }
}
