import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
@_spi(Wire) import Traylog

/// The partitions of this node, in front of the routes: each request goes to those that it concerns.
package struct Partitions: Sendable {
    package let map: PartitionMap
    /// One for each partition, in order.
    package let services: [Service]

    package init(map: PartitionMap, services: [Service]) { (self.map, self.services) = (map, services) }

    /// Answers a request that its caller is allowed to make.
    package func answer(_ call: Call) async throws -> Response {
        let given = try given(call)
        switch call.route.partition {
        case .user: return try await call.at(services[try index(of: call.user, given)]).answer()
        case .any: return try await call.route.handler(call)
        case .split(_, let split): return try await split(self, call, given)
        case .all(let all):
            guard let given else { return try await all(self, call) }
            return try await call.at(services[given]).answer()
        case .named:
            guard let given else {
                throw Problem.invalid(Call.partition, "must be \(range): each partition has a log of its own")
            }
            return try await call.at(services[given]).answer()
        }
    }

    /// Erases a person, whose name stands in the body.
    package func erasure(_ call: Call, _ given: Int?) async throws -> Response {
        let body = try await call.body()
        let user = (try? JSONValue(json: body))?["user"]?.string
        let index = try user.map { try self.index(of: $0, given) } ?? 0
        return try await call.at(services[index], given: index, body: body).answer()
    }

    package func job(_ call: Call) async throws -> Response {
        let id = call.segment("id")
        return try await call.at(services.first { $0.jobs.find(id) != nil } ?? services[0]).answer()
    }

    func readiness() async throws -> Response {
        guard !services[0].isDraining else { throw Problem.unavailable("the server is closing") }
        return try await HealthRoutes.readiness(services)
    }

    package func service(of user: String) -> Service { services[map.index(of: user)] }

    private var range: String { "0 to \(services.count - 1)" }

    /// The field `partition` of the query.
    private func given(_ call: Call) throws(Problem) -> Int? {
        guard let text = call.query[Call.partition] else { return nil }
        guard let number = WireNumber(text)?.within(0...services.count - 1) else {
            throw .invalid(Call.partition, "must be \(range)")
        }
        return number
    }

    private func index(of user: String, _ given: Int?) throws(Problem) -> Int {
        let index = map.index(of: user)
        guard given == nil || given == index else {
            throw .invalid(Call.partition, "is \(index) for this user, of \(range); it need not be given")
        }
        return index
    }

    // MARK: All partitions

    /// Users of all partitions in the order of their names.
    package func users(_ call: Call) async throws -> Response {
        try call.checkPartitionsOfSeqs()
        var pages: [JSONValue] = []
        for service in services {
            let page = try await call.at(service).answer()
            pages.append(try JSONValue(json: try await page.wholeBody()))
        }
        let all = pages.flatMap { $0["users"]?.array ?? [] }.map { (name: $0["user"]?.string ?? "", tray: $0) }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        let shown = all.prefix(try call.limit())
        let isMore = shown.count < all.count || pages.contains { $0["next"]?.string != nil }
        let next = isMore ? shown.last.map { JSONValue.string(Array($0.name.utf8).base64URL) } : nil
        return .json(["users": .array(shown.map(\.tray)), "next": next ?? .null])
    }

    /// One event in each partition.
    package func broadcast(_ call: Call) async throws -> Response {
        let body = try await call.body()
        let answers = try await inTurn { index in
            try await call.at(services[index], given: index, body: body).answer()
        }
        if let failed = answers.first(where: { !$0.isSuccess }) { return failed.response }
        var headers: HTTPFields = [.seq: Self.text(answers.map { ($0.index, $0.value["seq"]?.integer ?? 0) })]
        headers[.location] = answers[0].response.headers[.location]
        let isNew = answers.contains { $0.status == .created }
        if !isNew { headers[.idempotencyReplayed] = "true" }
        let parts = answers.map { JSONValue.object($0.value.members + [("partition", .int($0.index))]) }
        return .json(.object(Self.merged(parts)), isNew ? .created : .ok, headers: headers)
    }

    /// The result of a broadcast, from the result of each partition: `seq` is the first partition's.
    package static func merged(_ parts: [JSONValue]) -> [(name: String, value: JSONValue)] {
        let isNew = parts.contains { $0["result"]?.string == "appended" }
        let first = (parts.first?.members ?? []).filter { $0.name != Call.partition }.map { member in
            member.name == "result" && isNew ? (name: "result", value: JSONValue.string("appended")) : member
        }
        return first + [("partitions", .array(parts))]
    }

    /// Seqs as `Traylog-Seq` says them where there are several, and as `Traylog-Min-Seq` takes them.
    package static func text(_ seqs: [(index: Int, seq: WireNumber)]) -> String {
        seqs.map { "\($0.index):\($0.seq)" }.joined(separator: ",")
    }

    package struct Answer: Sendable {
        package let index: Int
        package let value: JSONValue
        /// As it came.
        package let response: Response

        package var status: HTTPResponse.Status { response.status }
        package var isSuccess: Bool { status.code < 300 }
    }

    /// Asks the first partition, and then all others at the same time.
    ///
    /// A request that the first one refuses reaches none of the others, so that a key is in conflict in all or in none.
    ///
    /// - Returns: the answers of all; the first one alone if that is a refusal.
    func inTurn(_ body: @escaping @Sendable (Int) async throws -> Response) async throws -> [Answer] {
        let first = try await each([0], body)
        guard first[0].isSuccess else { return first }
        return try await first + each(Array(services.indices.dropFirst()), body)
    }

    /// Asks several partitions at the same time.
    package func each(
        _ indexes: [Int], _ body: @escaping @Sendable (Int) async throws -> Response
    ) async throws -> [Answer] {
        try await withThrowingTaskGroup(of: (Int, Answer).self) { group in
            for (place, index) in indexes.enumerated() {
                group.addTask { (place, try await answer(of: index, body)) }
            }
            var answers: [Int: Answer] = [:]
            for try await (place, answer) in group { answers[place] = answer }
            return indexes.indices.compactMap { answers[$0] }
        }
    }

    private func answer(
        of index: Int, _ body: @Sendable (Int) async throws -> Response
    ) async throws -> Answer {
        let response: Response
        do {
            response = try await body(index)
        } catch {
            let problem = Problem(error)
            if problem.status.code >= 500 {
                services[index].log.write([(Call.partition, .int(index)), ("error", .string("\(error)"))])
            }
            response = problem.response
        }
        let bytes = try await response.wholeBody()
        let copy = Response(
            status: response.status, headers: response.headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        )
        return Answer(index: index, value: bytes.isEmpty ? .null : try JSONValue(json: bytes), response: copy)
    }
}

extension Call {
    package static let partition = "partition"

    /// The same request for one partition.
    package func at(_ service: Service) -> Call {
        Call(
            request: request, route: route, service: service, partitions: partitions, caller: caller,
            credential: credential, channel: channel, path: path, query: query, place: place)
    }

    /// The same with another body; should another node decide, it hears for which partition it is.
    package func at(_ service: Service, given index: Int, body: [UInt8], contentType: String? = nil) -> Call {
        var head = request.head
        let target = head.path ?? "/"
        if query[Self.partition] == nil {
            head.path = target + (target.contains("?") ? "&" : "?") + "\(Self.partition)=\(index)"
        }
        if let contentType { head.headerFields[.contentType] = contentType }
        return Call(
            request: Request(head: head, body: RequestBody(buffer: ByteBuffer(bytes: body))), route: route,
            service: service, partitions: partitions, caller: caller, credential: credential, channel: channel,
            path: path, query: query, place: place)
    }

    /// Refuses a seq that does not say its partition, where several answer.
    package func checkPartitionsOfSeqs() throws(Problem) {
        guard let text = try headers.text(.minSeq), WireNumber(text) != nil else { return }
        throw .invalid(
            "Traylog-Min-Seq", "must be PARTITION:SEQ here, with commas between: each partition has its seqs")
    }
}

extension JSONValue {
    /// Those of an object.
    package var members: [(name: String, value: JSONValue)] {
        if case .object(let members) = self { members } else { [] }
    }
}

extension Response {
    /// The body of an answer of another partition.
    package func wholeBody() async throws -> [UInt8] {
        let collected = CollectedBody()
        try await body.write(collected)
        return collected.bytes
    }
}

/// Keeps what is written.
private struct CollectedBody: ResponseBodyWriter {
    private final class Parts: Sendable {
        let bytes = Mutex<[UInt8]>([])
    }

    private let parts = Parts()

    var bytes: [UInt8] { parts.bytes.withLock { $0 } }

    func write(_ part: ByteBuffer) { parts.bytes.withLock { $0 += part.readableBytesView } }

    consuming func finish(_: HTTPFields?) {}
}
