import Foundation
import Synchronization
@_spi(Replication) @_spi(Operations) @_spi(JSON) import Traylog
import TestSupport
import TraylogClient
@_spi(JSON) import TraylogJSON

/// The service's routes over a store in this process, on a network that a test breaks.
final class SimulatedService: ServiceTransport, TokenSource {
    /// The network's effect on the next requests.
    enum Weather: Hashable, Sendable {
        case fine
        /// No connection.
        case offline
        /// Each fault by chance: lost, answered without the answer arriving, done twice.
        case stormy
        /// Every request is performed, and no answer arrives.
        case mute
        /// No request is performed, and each answer has this status.
        case answering(Int)
        /// No request is performed, and each answer is this problem document.
        case saying(Int, String)
        /// A node that lacks events: 503, with `Retry-After` in seconds.
        case behind(seconds: Int)
        /// The network's sign-in page answers in the service's place, with this status.
        case signInPage(Int)
    }

    struct Backup {
        let directory: String
    }

    private struct State {
        var store: Store
        var weather = Weather.fine
        var random: SeededRandom
        var requests: [String] = []
        var validToken = "good"
        var givenToken = "good"
        var strangeKind: String?
        var treeHeadAsOf: Moment?
        /// What `/v1/checkpoint` gives; nil before a quorum has seen one.
        var checkpoint: String?
        var revokedTokens: Set<String> = []
        /// The snapshot of a node that is behind, which does not know the offsets of the others.
        var oldSnapshot: ServiceResponse?
        /// Each stream that is opened ends for this reason; nil: there are no streams.
        var endReason: String?
        var directories: [String] = []
    }

    private let state: Mutex<State>

    init(seed: UInt64 = 0) throws {
        state = Mutex(State(store: try Store.temporary(), random: SeededRandom(seed: seed)))
    }

    /// The server's store; a test may put another one in its place, such as a backup.
    var store: Store {
        get { state.withLock { $0.store } }
        set { state.withLock { $0.store = newValue } }
    }

    var weather: Weather {
        get { state.withLock { $0.weather } }
        set { state.withLock { $0.weather = newValue } }
    }

    /// Methods and paths without queries, so far.
    var requests: [String] { state.withLock { $0.requests } }

    /// The token that the server takes, and the one that the device has.
    func set(valid: String, given: String) {
        state.withLock { ($0.validToken, $0.givenToken) = (valid, given) }
    }

    /// Refuses a token from now on, as one from before the person's erasure.
    func revoke(_ token: String) { state.withLock { _ = $0.revokedTokens.insert(token) } }

    /// A node answers that is as it was when this snapshot was made; nil: one that has all events.
    func answer(asNodeWith snapshot: ServiceResponse?) { state.withLock { $0.oldSnapshot = snapshot } }

    /// From now on streams can be opened, and end at once for a reason.
    func endStreams(_ reason: String?) { state.withLock { $0.endReason = reason } }

    func backUp() async throws -> Backup {
        let directory = newDirectory()
        try await store.upkeep.backup(to: directory)
        return Backup(directory: directory)
    }

    /// Puts a copy of a backup in the store's place: its log goes on in a history of its own.
    func restore(_ backup: Backup) async throws {
        await store.close()
        let directory = newDirectory()
        try FileManager.default.copyItem(atPath: backup.directory, toPath: directory)
        var options = StoreOptions()
        (options.ticking, options.durability) = (.manual, .relaxed)
        let restored = try Store.open(directory, options: options)
        state.withLock { $0.store = restored }
    }

    private func newDirectory() -> String {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("simulated-\(UUID())").path
        state.withLock { $0.directories.append(path) }
        return path
    }

    deinit { for path in state.withLock({ $0.directories }) { try? FileManager.default.removeItem(atPath: path) } }

    /// Returns the tree head of an earlier moment, like a cluster node that is behind; nil: of now.
    func giveTreeHead(asOf moment: Moment?) { state.withLock { $0.treeHeadAsOf = moment } }

    /// From now on this is the newest checkpoint that a quorum of witnesses has seen; nil for none.
    func publish(_ checkpoint: String?) { state.withLock { $0.checkpoint = checkpoint } }

    /// The next requested changes also have an event of this kind.
    func send(strangeKind: String) { state.withLock { $0.strangeKind = strangeKind } }

    func token() async throws -> String { state.withLock { $0.givenToken } }

    func isReachable() async -> Bool {
        switch weather {
        case .offline, .signInPage: false
        default: true
        }
    }

    func upload(
        file path: String, as name: String, progress: @escaping @Sendable (Double) -> Void
    ) async throws(ServiceFailure) -> (response: ServiceResponse, address: String) {
        (ServiceResponse(status: 201), "memory:\(name)")
    }

    func open(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceStream {
        guard let reason = state.withLock({ $0.endReason }) else { throw .interrupted("this service has no streams") }
        let response = try await perform(request)
        guard response.status == 200 else {
            let (chunks, body) = AsyncThrowingStream.makeStream(of: [UInt8].self)
            body.yield(response.body)
            body.finish()
            return ServiceStream(status: response.status, headers: response.headers, chunks: chunks)
        }
        let next = response.headers["stream-next-offset"] ?? ""
        let text =
            "event: data\ndata: \(String(decoding: response.body, as: UTF8.self))\n\n"
            + "event: control\ndata: {\"streamNextOffset\":\"\(next)\",\"upToDate\":true}\n\n"
            + "event: end\ndata: {\"reason\":\"\(reason)\"}\n\n"
        let (chunks, body) = AsyncThrowingStream.makeStream(of: [UInt8].self)
        body.yield(Array(text.utf8))
        body.finish()
        return ServiceStream(status: 200, headers: ["content-type": "text/event-stream"], chunks: chunks)
    }

    func perform(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceResponse {
        let path = request.path.split(separator: "?")[0]
        let (weather, chance, isAllowed, isRevoked) = state.withLock { state in
            state.requests.append("\(request.method) \(path)")
            let token = request.headers["Authorization"]?.dropFirst("Bearer ".count) ?? ""
            return (
                state.weather, state.random.next() % 8, token == state.validToken,
                state.revokedTokens.contains(String(token))
            )
        }
        guard weather != .offline else { throw .offline("refused") }
        if case .signInPage(let status) = weather {
            let headers = ["content-type": "text/html; charset=utf-8", "location": "http://portal.example/sign-in"]
            return ServiceResponse(status: status, headers: headers, body: Array("<html>Sign in</html>".utf8))
        }
        guard !isRevoked else { return problem(401, "tokenRevoked") }
        guard isAllowed else { return problem(401, "unauthorized") }
        if case .answering(let status) = weather {
            return problem(status, nil, headers: status == 429 ? ["retry-after": "7"] : [:])
        }
        if case .saying(let status, let body) = weather {
            return ServiceResponse(
                status: status, headers: ["content-type": "application/problem+json"], body: Array(body.utf8))
        }
        if case .behind(let seconds) = weather { return problem(503, nil, headers: ["retry-after": "\(seconds)"]) }
        if weather == .stormy, chance == 0 { throw .interrupted("lost") }
        if weather == .stormy, chance == 1 { _ = answer(request) }
        let response = answer(request)
        if weather == .mute { throw .interrupted("the answer was lost") }
        if weather == .stormy, chance == 2 { throw .interrupted("the answer was lost") }
        if weather == .stormy, chance == 3 { return problem(503, nil, headers: ["retry-after": "1"]) }
        return response
    }

    private func answer(_ request: ServiceRequest) -> ServiceResponse {
        do {
            return try route(request)
        } catch TraylogError.refused(let refusal) {
            return problem(refusal)
        } catch let refusal as Refusal {
            return problem(refusal)
        } catch {
            return problem(500, nil, "\(error)")
        }
    }

    private func problem(
        _ status: Int, _ name: String?, _ detail: String? = nil, headers: [String: String] = [:]
    ) -> ServiceResponse {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("status", status)
        writer.member("error", name)
        writer.member("detail", detail)
        writer.endObject()
        return ServiceResponse(
            status: status, headers: headers.merging(["content-type": "application/problem+json"]) { $1 },
            body: writer.bytes)
    }

    private func problem(_ refusal: Refusal) -> ServiceResponse {
        switch refusal {
        case .invalid: problem(400, refusal.code.rawValue, refusal.message)
        case .unknownItem, .unknownEvent: problem(404, refusal.code.rawValue, refusal.message)
        case .itemGone, .compacted: problem(410, refusal.code.rawValue, refusal.message)
        case .upToBeyondHead: problem(410, "rewound", refusal.message)
        default: problem(422, refusal.code.rawValue, refusal.message)
        }
    }

    private static let json = ["content-type": "application/json"]

    private func route(_ request: ServiceRequest) throws -> ServiceResponse {
        let parts = request.path.split(separator: "?")
        let path = parts[0].split(separator: "/").map(String.init)
        let query = parts.count > 1 ? String(parts[1]) : ""
        if path[1] == "proofs" { return try growth(query) }
        if path[1] == "checkpoint" {
            guard let note = state.withLock(\.checkpoint) else { return problem(503, nil) }
            return ServiceResponse(
                status: 200, headers: ["content-type": "text/plain; charset=utf-8"], body: Array(note.utf8))
        }
        let user = path[2]
        if let old = state.withLock(\.oldSnapshot) {
            if path[3] == "changes" { return problem(400, "invalid", "offset: is not of this feed") }
            if path[3] == "snapshot" { return old }
        }
        switch (request.method, path[3]) {
        case ("GET", "changes"): return try changes(of: user, query, request)
        case ("GET", "snapshot"): return try snapshot(of: user)
        case ("GET", "inbox"): return try inbox(of: user, query)
        case ("POST", let verb) where path.count == 4 || path[3] == "marks":
            let kind = ["seen": "seeTray", "marks": "mark", "undo": "undo", "notifications": "notify"][verb]
            return try perform(path.count == 5 ? "markAll" : kind ?? "", user, request)
        case ("POST", "items") where path.last == "action":
            return try perform("act", user, request, ["item": path[4]])
        case ("PUT", "mutes"), ("DELETE", "mutes"):
            let scope = path[4] == "all" ? ["all": "true"] : ["thread": "\"\(path[5])\""]
            return try perform(request.method == "PUT" ? "mute" : "unmute", user, request, scope)
        default: return problem(404, nil)
        }
    }

    /// A page of items, for the fields of a query that the tests use.
    private func inbox(of user: String, _ query: String) throws -> ServiceResponse {
        var asked = InboxQuery()
        for part in query.split(separator: "&") {
            let name = part.prefix { $0 != "=" }
            let value = String(part.dropFirst(name.count + 1)).removingPercentEncoding ?? ""
            switch name {
            case "limit": asked.limit = Int(value) ?? 0
            case "cursor": asked.cursor = Cursor(value)
            case "text": asked.filter.text = value
            default: return problem(404, nil)
            }
        }
        var writer = JSONWriter()
        writer.write(try store.blocking.inbox(of: user, asked), of: user)
        return ServiceResponse(status: 200, headers: Self.json, body: writer.bytes)
    }

    /// - Parameter path: the fields in the path, as JSON.
    private func perform(
        _ kind: String, _ user: String, _ request: ServiceRequest, _ path: [String: String] = [:]
    ) throws -> ServiceResponse {
        var members = ["\"kind\":\"\(kind)\"", "\"user\":\"\(user)\""] + path.map { "\"\($0)\":\($1)" }
        let body = String(decoding: (request.body ?? []).dropFirst().dropLast(), as: UTF8.self)
        if !body.isEmpty { members.append(body) }
        if request.body == nil, let key = request.headers["Idempotency-Key"] { members.append("\"key\":\"\(key)\"") }
        let line = "{\(members.joined(separator: ","))}"
        let receipt = try store.blocking.perform(Command(line: Array(line.utf8).span))
        let seq = try receipt.seq ?? store.blocking.head()
        var writer = JSONWriter()
        writer.write(receipt)
        return ServiceResponse(
            status: 200, headers: Self.json.merging(["traylog-seq": "\(seq)"]) { $1 }, body: writer.bytes)
    }

    private func offset(_ stream: UInt32, _ seq: Seq) throws -> String {
        func padded(_ number: UInt64, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: width - digits.count) + digits
        }
        let known = try store.blocking.storeHistory()
        let history = "\(known.mark).\(known.mark(at: seq))"
        return
            "\(try store.blocking.storeIdentity())_\(history)_\(padded(UInt64(stream), 10))_\(padded(seq.rawValue, 20))"
    }

    /// The reason why an offset cannot be read: it belongs to another store, history or person.
    private func refusal(_ offset: String, of user: String, _ stream: UInt32) throws -> ServiceResponse? {
        let parts = offset.split(separator: "_", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, let owner = UInt32(parts[2]), let number = UInt64(parts[3]) else { return nil }
        guard try parts[0] == store.blocking.storeIdentity() else {
            return problem(400, "invalid", "is not of this feed")
        }
        guard try store.blocking.storeHistory().holds(String(parts[1].drop { $0 != "." }.dropFirst()), at: Seq(number))
        else { return problem(410, "rewound") }
        guard owner != stream, owner != 0 else { return nil }
        if try store.blocking.isErased(stream: owner) { return problem(410, "erased") }
        return problem(400, "invalid", "is not of this feed")
    }

    private func changes(of user: String, _ query: String, _ request: ServiceRequest) throws -> ServiceResponse {
        let named = query.split(separator: "&").first { $0.hasPrefix("offset=") }?.dropFirst("offset=".count)
        let stream = try store.blocking.version(of: user).stream
        if let named, let refusal = try refusal(String(named), of: user, stream) { return refusal }
        let after = Seq(named.flatMap { UInt64($0.suffix(20)) } ?? 0)
        let changes = try store.blocking.changes(of: user, after: after, limit: 7)
        var headers = Self.json
        headers["stream-next-offset"] = try offset(changes.stream, changes.through)
        if changes.isComplete { headers["stream-up-to-date"] = "true" }
        if changes.isComplete, request.headers["Prefer"] == "tree-head" {
            let head = try store.blocking.treeHead(asOf: state.withLock(\.treeHeadAsOf))
            headers["traylog-tree-head"] = "\(head.size):\(head.root.hex)"
        }
        let history = changes.history.mark(at: changes.through)
        headers["etag"] = "\"\(history)-\(after)-\(changes.events.isEmpty ? after : changes.through)\""
        if headers["etag"] == request.headers["If-None-Match"] { return ServiceResponse(status: 304, headers: headers) }
        let strange = state.withLock { state in
            defer { state.strangeKind = nil }
            return state.strangeKind.map {
                #"{"seq":\#(changes.through),"recordedAt":"2026-01-01T00:00:00.000Z","kind":"\#($0)"}"#
            }
        }
        let body = "[" + (changes.events.map(\.json) + [strange].compactMap(\.self)).joined(separator: ",") + "]"
        return ServiceResponse(status: 200, headers: headers, body: Array(body.utf8))
    }

    /// The proof that the log only grew, for `first=N&second=N`.
    private func growth(_ query: String) throws -> ServiceResponse {
        let sizes = query.split(separator: "&").map { Seq(UInt64($0.split(separator: "=")[1]) ?? 0) }
        var writer = JSONWriter()
        writer.write(try store.blocking.treeGrowth(from: sizes[0], to: sizes[1]))
        return ServiceResponse(status: 200, headers: Self.json, body: writer.bytes)
    }

    func snapshot(of user: String) throws -> ServiceResponse {
        let snapshot = try store.blocking.snapshot(of: user)
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("store", try store.blocking.storeIdentity())
        writer.name("history")
        writer.beginArray()
        for fork in snapshot.history.forks {
            writer.beginObject()
            writer.member("mark", fork.mark)
            writer.member("after", fork.after)
            writer.endObject()
        }
        writer.endArray()
        writer.member("stream", UInt64(snapshot.stream))
        writer.member("asOf", snapshot.asOf)
        writer.member("offset", try offset(snapshot.stream, snapshot.asOf))
        writer.member("floor", snapshot.floor)
        writer.name("tray")
        writer.write(snapshot.tray)
        writer.member("mutes", each: snapshot.mutes) { $0.write($1) }
        writer.name("topics")
        writer.beginArray()
        for topic in snapshot.topics {
            writer.beginObject()
            writer.member("topic", topic.topic)
            writer.member("from", topic.from)
            writer.member("until", orNull: topic.until)
            writer.endObject()
        }
        writer.endArray()
        writer.name("voided")
        writer.beginArray()
        for seq in snapshot.voided { writer.value(seq) }
        writer.endArray()
        writer.endObject()
        var body = writer.bytes + [UInt8(ascii: "\n")]
        for part in snapshot.items {
            body += Array(part.item.json.utf8).dropLast() + Array(",\"hasContent\":\(part.hasContent)}\n".utf8)
        }
        return ServiceResponse(
            status: 200, headers: ["content-type": "application/x-ndjson"], body: body + Array("{\"next\":null}\n".utf8)
        )
    }
}
