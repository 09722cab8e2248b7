import Foundation
import HTTPTypes
import Hummingbird
import Traylog
import TraylogCluster

/// Requests of nodes to each other.
enum ClusterRoutes {
    static var all: [Route] {
        [
            Route(
                .get, Seed.path, "A copy of the store, for a node that begins", .open,
                answers: "application/octet-stream"
            ) { call in
                let now = Timestamp.now.milliseconds / 1_000
                guard let pass = call.service.pass, pass.opens(Seed.path, call.headers[.authorization], now: now) else {
                    throw Problem.unauthorized("this is for nodes with the same keys file")
                }
                guard call.service.cluster != nil else {
                    throw Problem(.notFound, "Not found", "this server is on its own")
                }
                return try await copy(call)
            }
        ]
    }

    private static func copy(_ call: Call) async throws -> Response {
        let directory = FileManager.default.temporaryDirectory.path + "/traylog-seed-\([UInt8].random(8).hex)"
        let report = try await call.store.backup(to: directory)
        let head = try await call.store.treeHead(asOf: .seq(report.head))
        let body = ResponseBody { writer in
            defer { try? FileManager.default.removeItem(atPath: directory) }
            try await CopyReader(directory: directory).forEachPart { try await writer.write(ByteBuffer(bytes: $0)) }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok,
            headers: [.contentType: "application/octet-stream", .treeHead: "\(head.size):\(head.root)"], body: body)
    }
}

extension Responder {
    /// Sends a request on to the node that decides, if that is another one.
    ///
    /// - Returns: nil for a request that this node performs itself.
    /// - Throws: ``Problem`` 503 while nobody decides and nobody is about to, or where this node must not answer.
    func forwarded(_ request: Request, _ route: Route) async throws -> Response? {
        guard let cluster = service.cluster else { return nil }
        var status = await cluster.status()
        if status.role == .diverged, route.showsTrays {
            throw Problem.unavailable(status.divergence?.description ?? "this node has diverged")
        }
        guard route.needsOwner, status.role != .owner else { return nil }
        guard request.headers[Forwarding.mark] == nil else {
            throw Problem.unavailable("this node does not decide any more; send it again")
        }
        status = try await cluster.waitForOwner()
        guard status.role != .owner else { return nil }
        guard let owner = cluster.otherOwner(status) else {
            throw Problem.unavailable(
                "no node decides now"
                    + (status.trouble.map { ": \($0)" } ?? "; one of them is about to take over. Send it again"))
        }
        return try await Forwarding.forward(request, to: owner)
    }
}

extension Route {
    /// Requests that each node answers by itself, though they do not only read.
    private static let local: Set<String> = [
        "/v1/tokens", "/v1/admin/replays", "/v1/admin/verifications", "/v1/admin/backups",
    ]

    /// Whether it appends events, which the owner alone does.
    fileprivate var needsOwner: Bool { method != .get && method != .head && !Self.local.contains(path.text) }

    /// Whether it answers from what a node that has diverged may have wrong.
    fileprivate var showsTrays: Bool {
        !access.isOpen && !["/v1/admin/", "/metrics", "/v1/log"].contains { path.text.hasPrefix($0) }
    }
}
