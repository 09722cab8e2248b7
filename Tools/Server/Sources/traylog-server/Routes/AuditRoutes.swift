import Hummingbird
import Traylog

/// The routes that show what happened, and prove it.
enum AuditRoutes {
    private static let eventsAtOnce = 1_000

    static var all: [Route] { [history, audit, difference] + proofs }

    private static var history: Route {
        Route(
            .get, "/v1/users/{u}/history", "A user's own events", .key(.audit),
            query: ["from", "to", "limit", "asOf"], answers: "application/x-ndjson"
        ) { call in
            let head = try await call.store.head()
            let end = try await call.store.seq(of: call.asOf() ?? .seq(head))
            let last = try await call.moment("to").asyncMap { try await call.store.seq(of: $0) }
            let first = try call.number("from").map { Seq($0) } ?? 1
            let limit = try call.limit(default: eventsAtOnce)
            guard (1...10_000).contains(limit) else { throw Problem.invalid("limit", "must be 1 to 10000") }
            let events = try await call.store.history(of: call.user, from: first, limit: limit, asOf: .seq(end))
            var bytes: [UInt8] = []
            for event in events where event.seq <= last ?? end { bytes += event.jsonBytes + [UInt8(ascii: "\n")] }
            return .lines(bytes)
        }
    }

    private static var audit: Route {
        Route(
            .get, "/v1/users/{u}/audit", "What was done to a tray, by whom", .key(.audit),
            query: ["from", "to", "asOf"],
            answers: "application/x-ndjson"
        ) { call in
            let store = call.store
            let report = try await store.audit(
                of: call.user, from: call.moment("from"), to: call.moment("to"), asOf: call.asOf())
            var bytes = report.jsonBytes + [UInt8(ascii: "\n")]
            var next = 0
            while next < report.steps.count {
                let range = next..<min(next + eventsAtOnce, report.steps.count)
                for entry in try await store.entries(of: report, range, withProofs: true) {
                    bytes += entry.jsonBytes + [UInt8(ascii: "\n")]
                }
                next = range.upperBound
            }
            return .lines(bytes)
        }
    }

    private static var difference: Route {
        Route(
            .get, "/v1/users/{u}/difference", "What changed between two moments", .key(.audit),
            query: ["from", "to", "asOf"]
        ) { call in
            guard let from = try call.moment("from") else { throw Problem.invalid("from", "must be given") }
            let to = try call.moment("to") ?? call.asOf()
            let difference = try await call.store.difference(of: call.user, from: from, to: to)
            let store = call.store
            var events: [Event] = []
            for step in difference.steps { events += try await store.events(from: step.seq, limit: 1) }
            return .json(JSONValue(writing: { $0.write(difference, events) }))
        }
    }

    private static var proofs: [Route] {
        [
            Route(.get, "/v1/tree-head", "The size and root of the log's Merkle tree", .anybody, query: ["asOf"]) {
                call in
                let head = try await call.store.treeHead(asOf: call.asOf())
                return .json(JSONValue(writing: { $0.write(head) }))
            },
            Route(
                .get, "/v1/checkpoint", "The tree head as a signed note", .anybody, answers: "text/plain; charset=utf-8"
            ) { call in
                guard let key = call.service.checkpointKey else {
                    throw Problem(.notFound, "Not found", "this server was given no key to sign checkpoints with")
                }
                let head = try await call.store.treeHead()
                let note = try Checkpoint(origin: key.publicKey.name, head: head).signed(with: key)
                return Response(
                    status: .ok, headers: [.contentType: "text/plain; charset=utf-8"],
                    body: ResponseBody(byteBuffer: ByteBuffer(string: note.text)))
            },
            Route(
                .get, "/v1/proofs/consistency", "The proof that the log only grew", .anybody,
                query: ["first", "second"]
            ) { call in
                guard let first = try call.number("first") else { throw Problem.invalid("first", "must be given") }
                let second = try call.number("second").map { Seq($0) }
                let growth = try await call.store.treeGrowth(from: Seq(first), to: second)
                return .json(JSONValue(writing: { $0.write(growth) }))
            },
            Route(.get, "/v1/proofs/{seq}", "The proof that an event is in the log", .anybody, query: ["asOf"]) {
                call in
                guard let seq = UInt64(call.segment("seq")) else { throw Problem.invalid("seq", "must be a number") }
                let proof = try await call.store.proof(of: Seq(seq), asOf: call.asOf())
                return .json(JSONValue(writing: { $0.write(proof) }))
            },
        ]
    }
}

extension Optional {
    fileprivate func asyncMap<Value>(_ body: (Wrapped) async throws -> Value) async throws -> Value? {
        if let self { try await body(self) } else { nil }
    }
}
