import Foundation
import Testing

/// The libraries that an embedder's program loads because of this one.
@Suite struct LinkageTests {
    /// Beside the tests lie the objects of all modules, which name the libraries that they need.
    private static let products = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()

    @Test func theLibraryLinksNoFoundation() throws {
        let modules = SourceFile.all(below: "Sources").map(\.module).filter { $0.hasPrefix("Traylog") }
        for module in Set(modules).subtracting(["TraylogFoundation", "TraylogClientHTTP"]) {
            #expect(try Self.objects(of: module, naming: "Foundation").isEmpty)
        }
    }

    @Test(arguments: ["TraylogAudit", "TraylogCodec", "TraylogDomain", "TraylogEvidence", "TraylogJSON"])
    func whatIsForAuditorsLinksNoDatabase(module: String) throws {
        #expect(try !Self.objects(of: "TraylogLMDB", naming: "lmdb").isEmpty)
        for library in ["lmdb", "zstd"] { #expect(try Self.objects(of: module, naming: library).isEmpty) }
    }

    /// The objects of a module that need a library.
    private static func objects(of module: String, naming library: String) throws -> [String] {
        let folder = products.appending(path: "\(module).build")
        let objects = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "o" }
        #expect(!objects.isEmpty)
        return try objects.filter { try Data(contentsOf: $0).range(of: Data("-l\(library)".utf8)) != nil }
            .map { "\(module): \($0.lastPathComponent)" }
    }
}
