import HTTPTypes
import Hummingbird
@_spi(Operations) import Traylog
import TraylogCluster

/// What watches the server: liveness, readiness, figures, and the description of the API.
enum HealthRoutes {
    static var all: [Route] {
        [
            Route(
                .get, "/healthz", as: "getHealth", "Whether the server lives", .free, origins: .allowed,
                partition: .any, answers: .json(.health), refusals: []
            ) { _ in .json(["status": "ok"]) },
            Route(
                .get, "/readyz", as: "getReadiness", "Whether the server takes requests", .free, origins: .allowed,
                partition: .split(isNameable: false) { partitions, _, _ in try await partitions.readiness() },
                answers: .json(.readiness),
                refusals: []
            ) { call in
                guard !call.service.isDraining else { throw Problem.unavailable("the server is closing") }
                if let cluster = call.service.cluster { return await readiness(await cluster.status(), call.service) }
                let head = await Deadline.abandoning(after: .seconds(5)) { try await call.service.writerProbe.head() }
                guard let head else { throw Problem.unavailable("the store does not answer") }
                let health = await Deadline.abandoning(after: .seconds(5)) { await call.service.healthMembers() }
                guard let health else { throw Problem.unavailable("the store does not answer") }
                return .json(.present([("status", "ok"), ("head", JSONValue(head))] + health))
            },
            Route(
                .get, "/metrics", as: "getMetrics", "Figures for Prometheus", .key(.metrics), origins: .own,
                partition: .split(isNameable: false) { partitions, _, _ in await metrics(partitions.services) },
                answers: .text("text/plain; version=0.0.4"), refusals: []
            ) {
                call in
                await metrics([call.service])
            },
            Route(
                .get, "/openapi.json", as: "getDescription", "This description", .open, origins: .allowed,
                partition: .any, answers: .json(.document), refusals: []
            ) {
                call in
                Response(
                    status: .ok, headers: [.contentType: "application/json"],
                    body: ResponseBody(byteBuffer: call.service.description))
            },
        ]
    }

    /// A node that lacks events, or stopped, is not ready; it says how far it is all the same.
    private static func readiness(_ status: NodeStatus, _ service: Service) async -> Response {
        let members = await members(of: status, service)
        if status.isReady { return .json(.object([("status", "ok")] + members)) }
        return unready(status, members)
    }

    private static func unready(_ status: NodeStatus, _ members: [(name: String, value: JSONValue)]) -> Response {
        var problem = Problem.unavailable(
            status.divergence?.description ?? status.trouble ?? "this node is catching up with the log of record")
        problem.members += members
        return problem.response
    }

    private static func members(of status: NodeStatus, _ service: Service) async -> [(name: String, value: JSONValue)] {
        var members: [(name: String, value: JSONValue)] = [
            ("head", JSONValue(status.head)), ("role", .string(status.role.rawValue)),
            ("position", .int(status.position.rawValue)),
            ("lag", ["events": .int(status.lagEvents), "seconds": .number(status.lag.secondsText)]),
        ]
        if let owner = status.owner { members.append(("owner", .string(owner.url))) }
        for case (let name, let value?) in await service.healthMembers() { members.append((name, value)) }
        // A node whose log of record is full still reads.
        if let trouble = status.trouble { members.append(("trouble", .string(trouble))) }
        if let divergence = status.divergence { members.append(("seq", JSONValue(divergence.seq))) }
        return members
    }

    /// The same for a node with partitions, which is ready when all of them are: first the whole, then each.
    static func readiness(_ services: [Service]) async throws -> Response {
        var all: [NodeStatus] = []
        for service in services { if let cluster = service.cluster { all.append(await cluster.status()) } }
        var parts: [JSONValue] = []
        for (service, status) in zip(services, all) {
            parts.append(.object([("partition", .int(parts.count))] + (await members(of: status, service))))
        }
        func sum(_ value: (NodeStatus) -> UInt64) -> JSONValue { .int(all.reduce(0) { $0 + value($1) }) }
        let unready = all.first { !$0.isReady }
        let role = unready?.role ?? (all.contains { $0.role == .owner } ? .owner : .follower)
        let whole: [(name: String, value: JSONValue)] = [
            ("head", sum { UInt64($0.head) }), ("role", .string(role.rawValue)), ("position", sum(\.position.rawValue)),
            (
                "lag",
                [
                    "events": sum(\.lagEvents),
                    "seconds": .number((all.map(\.lag).max() ?? .zero).secondsText),
                ]
            ),
            ("partitions", .array(parts)),
        ]
        if let unready { return Self.unready(unready, whole) }
        return .json(.object([("status", "ok")] + whole))
    }

    /// The figures of a server.
    static func metrics(_ services: [Service]) async -> Response {
        await Service.measure(services)
        return Response(
            status: .ok, headers: [.contentType: "text/plain; version=0.0.4"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: services[0].metrics.text())))
    }
}

/// Asks the store's writer whether it lives; all who ask at the same time share one question, because anybody may ask.
actor WriterProbe {
    private let store: Store
    private var underWay: Task<Seq, any Error>?

    init(_ store: Store) { self.store = store }

    func head() async throws -> Seq {
        if let underWay { return try await underWay.value }
        // A tick in the distant past changes nothing, but the writer has to answer it.
        let task = Task { [store] in try await store.tick(now: Timestamp(milliseconds: 0)).head }
        underWay = task
        defer { underWay = nil }
        return try await task.value
    }
}

extension NodeStatus {
    fileprivate var isReady: Bool { role == .owner || role == .follower }
}

extension Duration {
    /// Seconds with three digits after the point.
    fileprivate var secondsText: String {
        let thousandths = String(max(0, milliseconds) % 1_000)
        return "\(max(0, milliseconds) / 1_000)." + String(repeating: "0", count: 3 - thousandths.count) + thousandths
    }
}
