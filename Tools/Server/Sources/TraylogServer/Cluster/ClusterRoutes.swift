import Foundation
import HTTPTypes
import Hummingbird
@_spi(Operations) import Traylog
import TraylogCluster

/// Requests of nodes to each other.
package enum ClusterRoutes {
    /// Where a node that begins gets a copy of the store.
    package static let copyPath = "/v1/cluster/backup"

    package static var all: [Route] {
        [
            Route(
                .get, copyPath, as: "copyStore", "A copy of the store, for a node that begins", .node,
                origins: .allowed,
                partition: .named, answers: .text("application/octet-stream"), headers: ["Traylog-Tree-Head"],
                refusals: [404]
            ) { call in
                guard call.service.cluster != nil else {
                    throw Problem(.notFound, "Not found", "this server is on its own")
                }
                return try await copy(call)
            }
        ]
    }

    private static func copy(_ call: Call) async throws -> Response {
        let copy = StoreCopy()
        let report = try await call.store.upkeep.backup(to: copy.directory)
        let head = try await call.store.proofs.treeHead(asOf: .seq(report.head))
        // A backup has none of this, and the new node must also know who was erased.
        if call.service.cluster != nil {
            try? FileManager.default.copyItem(
                atPath: call.store.path + "/erasures", toPath: copy.directory + "/erasures")
        }
        let body = ResponseBody { writer in
            try await CopyReader(directory: copy.directory).forEachPart {
                try await writer.write(ByteBuffer(bytes: $0))
            }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok,
            headers: [.contentType: "application/octet-stream", .treeHead: "\(head.size):\(head.root)"], body: body)
    }
}

/// A copy of the store in a directory of its own, which goes with the last reference: sent, or not.
private final class StoreCopy: Sendable {
    let directory = FileManager.default.temporaryDirectory.path + "/traylog-seed-\([UInt8].random(8).hex)"

    deinit { try? FileManager.default.removeItem(atPath: directory) }
}

/// Sends the files of a directory.
private struct CopyReader: Sendable {
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
