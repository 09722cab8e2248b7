import Foundation
import Testing

/// The libraries that an embedder's program loads because of this one.
@Suite struct LinkageTests {
    /// Beside the tests lie the objects of all modules, which name the libraries that they need.
    private static let products = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()

    @Test func theLibraryLinksNoFoundation() throws {
        let modules = SourceFile.all(below: "Sources").map(\.module).filter { $0.hasPrefix("Traylog") }
        for module in Set(modules).subtracting(["TraylogFoundation", "TraylogClientHTTP"]) {
            let folder = Self.products.appending(path: "\(module).build")
            let objects = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
                .filter { $0.pathExtension == "o" }
            #expect(!objects.isEmpty)
            for object in objects {
                let bytes = try Data(contentsOf: object)
                #expect(bytes.range(of: Data("-lFoundation".utf8)) == nil, "\(module): \(object.lastPathComponent)")
            }
        }
    }
}
