import Foundation
import Testing

/// The documents say what the code does, and lead where they point.
struct DocumentationTests {
    private static let examples: [Example] = {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        let sources = files.filter { $0.lastPathComponent.hasSuffix("Examples.swift") }
        return sources.flatMap { Example.all(in: (try? String(contentsOf: $0, encoding: .utf8)) ?? "") }
    }()

    @Test(arguments: Document.all)
    func everySwiftBlockIsCodeThatRuns(document: Document) {
        for block in document.swiftBlocks {
            #expect(
                Self.examples.contains { $0.matches(block) },
                "\(document.path) has a block that no example of these tests equals")
        }
    }

    @Test func everyExampleStandsInADocument() {
        let blocks = Document.all.flatMap(\.swiftBlocks)
        #expect(!Self.examples.isEmpty)
        for example in Self.examples {
            #expect(blocks.contains { example.matches($0) }, "\(example.name)")
        }
    }

    @Test(arguments: Document.all)
    func linksLeadToFiles(document: Document) {
        let folder = Document.root.appendingPathComponent(document.path).deletingLastPathComponent()
        for link in document.localLinks {
            let target = folder.appendingPathComponent(link).path
            #expect(FileManager.default.fileExists(atPath: target), "\(document.path): \(link)")
        }
    }

    @Test func aBlockMatchesOnlyItsOwnText() {
        let source = "import Traylog\n    // example: a\n    let a = 1\n\n      let b = 2\n    // end\n"
        let example = Example.all(in: source)
        #expect(example.map(\.name) == ["a"])
        #expect(example.first?.matches("import Traylog\n\nlet a = 1\n\n  let b = 2\n") == true)
        #expect(example.first?.matches("let a = 1\n\n  let b = 2\n") == true)
        #expect(example.first?.matches("import Other\n\nlet a = 1\n\n  let b = 2\n") == false)
        #expect(example.first?.matches("let a = 1\n\n  let b = 3\n") == false)
    }
}
