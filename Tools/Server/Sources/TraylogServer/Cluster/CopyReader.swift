import Foundation

/// Sends the files of a directory.
struct CopyReader: Sendable {
    private static let partBytes = 1 << 20
    let directory: String

    /// Hands out pieces; blocks its thread.
    func forEachPart(_ body: ([UInt8]) async throws -> Void) async throws {
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory).sorted() {
            let path = directory + "/" + name
            var isDirectory: ObjCBool = false
            guard unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory),
                !isDirectory.boolValue,
                let file = FileHandle(forReadingAtPath: path)
            else { continue }
            defer { try? file.close() }
            let size = try file.seekToEnd()
            try file.seek(toOffset: 0)
            let line: JSONValue = ["file": .string(name), "bytes": .int(size)]
            try await body(line.bytes + [UInt8(ascii: "\n")])
            while let part = try file.read(upToCount: Self.partBytes), !part.isEmpty { try await body(Array(part)) }
        }
        try await body(Array("{}\n".utf8))
    }
}
