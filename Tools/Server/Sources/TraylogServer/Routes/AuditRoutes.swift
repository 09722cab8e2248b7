import Hummingbird
@_spi(Operations) @_spi(JSON) @_spi(Wire) import Traylog
@_spi(Witness) import TraylogAudit

/// The routes that show what happened, and prove it.
enum AuditRoutes {
    private static let eventsAtOnce = 1_000

    static var all: [Route] { [history, audit, difference] + proofs }

    private static var history: Route {
        Route(
            .get, "/v1/users/{u}/history", as: "getHistory", "A user's own events", .key(.audit), origins: .allowed,
            query: ["from", "to", "limit", "asOf"], answers: .lines(.event)
        ) { call in
            let (store, user) = (call.store, call.user)
            let head = try await store.log.head()
            let end = try await store.log.seq(of: call.asOf() ?? .seq(head))
            let to = try await call.moment("to").asyncMap { try await store.log.seq(of: $0) }
            let last = min(end, to ?? end)
            let first = try await call.moment("from").asyncMap { try await store.first(atOrAfter: $0) } ?? 1
            let limit = try call.limit(1...Int.max)
            // The first page comes before the answer, so that what is refused has a status.
            let page = try await store.history(
                of: user, from: first, limit: min(limit ?? .max, eventsAtOnce), asOf: .seq(end))
            return .lines { writer in
                var (page, left) = (page, limit ?? .max)
                while true {
                    let events = page.elements.prefix { $0.seq <= last }
                    try await writer.write(ByteBuffer(bytes: events.flatMap { $0.jsonBytes + [UInt8(ascii: "\n")] }))
                    left -= page.elements.count
                    guard let next = page.next, next <= last, left > 0 else { return }
                    page = try await store.history(
                        of: user, from: next, limit: min(left, eventsAtOnce), asOf: .seq(end))
                }
            }
        }
    }

    private static var audit: Route {
        Route(
            .get, "/v1/users/{u}/audit", as: "getAudit", "What was done to a tray, by whom", .key(.audit),
            origins: .allowed,
            query: ["from", "to", "asOf"], answers: .lines(.auditLine)
        ) { call in
            let store = call.store
            let report = try await store.proofs.auditReport(
                of: call.user, from: call.moment("from"), to: call.moment("to"), asOf: call.asOf())
            let note = try await call.service.checkpoint(through: Seq(report.treeHead.size))
            let seen = try await store.proofs.treeHead(report.treeHead, seenIn: note)
            let first = JSONValue(writing: { $0.write(report, seen: seen) }).bytes
            return .lines { writer in
                try await writer.write(ByteBuffer(bytes: first + [UInt8(ascii: "\n")]))
                for start in stride(from: 0, to: report.steps.count, by: eventsAtOnce) {
                    let range = start..<min(start + eventsAtOnce, report.steps.count)
                    let entries = try await store.proofs.entries(of: report, range, withProofs: true)
                    try await writer.write(ByteBuffer(bytes: entries.flatMap { $0.jsonBytes + [UInt8(ascii: "\n")] }))
                }
            }
        }
    }

    private static var difference: Route {
        Route(
            .get, "/v1/users/{u}/difference", as: "getDifference", "What changed between two moments", .key(.audit),
            origins: .allowed,
            query: ["from", "to", "asOf"], answers: .json(.trayDifference)
        ) { call in
            guard let from = try call.moment("from") else { throw Problem.invalid("from", "must be given") }
            let to = try call.moment("to") ?? call.asOf()
            let difference = try await call.store.proofs.difference(of: call.user, from: from, to: to)
            let store = call.store
            var events: [Event] = []
            for step in difference.steps { events += try await store.log.events(from: step.seq, limit: 1).elements }
            return .json(JSONValue(writing: { $0.write(difference, events) }))
        }
    }

    /// The media type of a C2SP tlog-proof, which has none of its own.
    private static let logProof = "text/x.tlog.proof"

    private static func text(_ text: String, type: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    /// The newest checkpoint, with its quorum where witnesses are asked for it.
    ///
    /// - Throws: ``Problem`` 503 before the first quorum.
    private static func checkpoint(_ call: Call) async throws -> SignedNote {
        if let witnesses = call.service.witnesses {
            guard let note = witnesses.published else {
                throw Problem.unavailable("no checkpoint has been seen by a quorum of witnesses yet")
            }
            return note
        }
        let head = try await call.store.proofs.treeHead()
        return try Checkpoint(origin: call.service.origin, head: head).signed(with: call.service.checkpointKey)
    }

    /// The proof of an event in the tree of the newest checkpoint.
    private static func proveWithCheckpoint(_ call: Call) async throws -> LogProof {
        guard call.query["asOf"] == nil else {
            throw Problem.invalid("asOf", "goes with JSON only: a tlog-proof has the newest checkpoint")
        }
        let (seq, note) = (try call.seq(), try await checkpoint(call))
        let size = try Checkpoint(note.body).head.size
        if size < UInt64(seq), UInt64(seq) <= UInt64(try await call.store.log.head()) {
            throw Problem.unavailable("no checkpoint with event \(seq) has been seen by a quorum of witnesses yet")
        }
        return try LogProof(try await call.store.proofs.proof(of: seq, asOf: .seq(Seq(size))), note)
    }

    private static var proofs: [Route] {
        [
            Route(
                .get, "/v1/tree-head", as: "getTreeHead", "The size and root of the log's Merkle tree", .anybody,
                origins: .allowed,
                query: ["asOf"], partition: .named, takesLimitedKeys: true, answers: .json(.treeHead)
            ) {
                call in
                let head = try await call.store.proofs.treeHead(asOf: call.asOf())
                return .json(JSONValue(writing: { $0.write(head) }))
            },
            Route(
                .get, "/v1/checkpoint", as: "getCheckpoint", "The tree head as a signed note", .anybody,
                origins: .allowed,
                partition: .named, takesLimitedKeys: true, answers: .text("text/plain; charset=utf-8"), refusals: []
            ) { call in
                text(try await checkpoint(call).text, type: "text/plain; charset=utf-8")
            },
            Route(
                .get, "/v1/proofs/consistency", as: "proveConsistency", "The proof that the log only grew", .anybody,
                origins: .allowed,
                query: ["first", "second"], partition: .named, takesLimitedKeys: true, answers: .json(.treeGrowth)
            ) { call in
                guard let first = try call.number("first")?.seq else { throw Problem.invalid("first", "must be given") }
                let second = try call.number("second")?.seq
                if let second, second < first { throw Problem.invalid("second", "is before first") }
                let growth = try await call.store.proofs.treeGrowth(from: first, to: second)
                return .json(JSONValue(writing: { $0.write(growth) }))
            },
            Route(
                .get, "/v1/proofs/{seq}", as: "proveEvent", "The proof that an event is in the log", .anybody,
                origins: .allowed,
                query: ["asOf"], partition: .named, takesLimitedKeys: true, answers: .jsonOrText(.eventProof, logProof)
            ) { call in
                if try call.accepts(logProof) {
                    return text(try await proveWithCheckpoint(call).text, type: logProof)
                }
                let proof = try await call.store.proofs.proof(of: call.seq(), asOf: call.asOf())
                return .json(JSONValue(writing: { $0.write(proof) }))
            },
        ]
    }
}

extension Store {
    /// The first event of a moment: its own seq, or the first event's at that time or later.
    fileprivate func first(atOrAfter moment: Moment) async throws -> Seq {
        switch moment {
        case .seq(let seq): seq
        case .time(let time): try await log.seq(of: .time(time - .milliseconds(1))) + 1
        }
    }
}

extension Optional {
    func asyncMap<Value>(_ body: (Wrapped) async throws -> Value) async throws -> Value? {
        if let self { try await body(self) } else { nil }
    }
}
