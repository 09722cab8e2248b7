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

    /// The Swift blocks in the comments of the libraries.
    private static let samples: [(path: String, text: String)] = {
        let folder = Document.root.appendingPathComponent("Sources")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        // Nobody outside of the package sees the others.
        let inner = [
            "Archive", "Fold", "LMDB", "Log", "Observation", "Pages", "Platform", "Tree",
        ].map { "/Traylog\($0)/" }
        let seen = (files?.allObjects as? [URL] ?? []).filter { file in
            file.pathExtension == "swift" && !inner.contains { file.path.contains($0) }
        }
        return seen.flatMap { file in
            let comments = ((try? String(contentsOf: file, encoding: .utf8)) ?? "").split(separator: "\n").map { line in
                line.drop { $0 == " " }
            }
            let blocks = comments.split { $0 == "/// ```swift" }.dropFirst()
            return blocks.map { block in
                let lines = block.prefix { $0 != "/// ```" }.map { $0.dropFirst(4) + "\n" }
                return (file.lastPathComponent, lines.joined())
            }
        }
    }()

    @Test(arguments: Document.all)
    func everySwiftBlockIsCodeThatRuns(document: Document) {
        for block in document.swiftBlocks {
            #expect(
                Self.examples.contains { $0.matches(block) },
                "\(document.path) has a block that no example of these tests equals")
        }
    }

    @Test func everySampleOfACommentIsCompiled() {
        #expect(Self.samples.count > 100)
        for sample in Self.samples {
            #expect(
                Self.examples.contains { $0.matches(sample.text) },
                "\(sample.path) has a sample that no example of these tests equals: run Tools/samples")
        }
    }

    @Test func everyExampleStandsInADocument() {
        let blocks = Document.all.flatMap(\.swiftBlocks) + Self.samples.map(\.text)
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
