import Foundation
import Testing

/// A Markdown file of this checkout.
struct Document: Sendable, CustomTestStringConvertible {
    /// From the top of the checkout, such as `Docs/internals/architecture.md`.
    let path: String
    let text: String

    var testDescription: String { path }

    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The files at the top, all below `Docs`, and the articles of the reference, in path order.
    static let all: [Document] = {
        let manager = FileManager.default
        let top = (try? manager.contentsOfDirectory(at: root, includingPropertiesForKeys: nil)) ?? []
        let below = manager.enumerator(
            at: root.appendingPathComponent("Docs"), includingPropertiesForKeys: nil, options: [.skipsHiddenFiles])
        let articles = root.appendingPathComponent("Sources/Traylog/Traylog.docc")
        let reference = (try? manager.contentsOfDirectory(at: articles, includingPropertiesForKeys: nil)) ?? []
        let files = (top + (below?.allObjects as? [URL] ?? []) + reference).filter { $0.pathExtension == "md" }
        return files.sorted { $0.path < $1.path }.compactMap { file in
            guard let text = try? String(contentsOf: file, encoding: .utf8) else { return nil }
            return Document(path: String(file.path.dropFirst(root.path.count + 1)), text: text)
        }
    }()

    /// The fenced Swift blocks.
    var swiftBlocks: [String] {
        text.matches(of: /(?m)^```swift\n((?s:.*?))^```$/).map { String($0.1) }
    }

    /// Targets of links that lead to files here, without the part after `#`.
    var localLinks: [String] {
        text.matches(of: /\]\(([^)#\s]+)(?:#[^)]*)?\)/).map { String($0.1) }.filter { !$0.contains("://") }
    }
}
