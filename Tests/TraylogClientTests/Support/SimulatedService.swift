import Synchronization
import Traylog
import TraylogClient

/// The service's routes over a store in this process, on a network that a test breaks.
final class SimulatedService: ServiceTransport, TokenSource {
    /// What happens to the next requests.
    enum Weather: Hashable, Sendable {
        case fine
        /// No connection.
        case offline
        /// Each fault by chance: lost, answered without the answer arriving, done twice.
        case stormy
        /// Everything is done, and no answer arrives.
        case mute
        /// Nothing is done, and this is the status of each answer.
        case answering(Int)
    }

    private struct State {
        var store: Store
        var weather = Weather.fine
        var random: SplitMix
        var requests: [String] = []
        var validToken = "good"
        var givenToken = "good"
        var strangeKind: String?
    }

    private let state: Mutex<State>

    init(seed: UInt64 = 0) throws {
        state = Mutex(State(store: try Store.temporary(), random: SplitMix(seed)))
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

    /// The next changes that are asked for have an event of this kind, too.
    func send(strangeKind: String) { state.withLock { $0.strangeKind = strangeKind } }

    func token() async throws -> String { state.withLock { $0.givenToken } }

    func isReachable() async -> Bool { weather != .offline }

    func upload(
        file path: String, as name: String, progress: @escaping @Sendable (Double) -> Void
    ) async throws(ServiceFailure) -> (response: ServiceResponse, address: String) {
        (ServiceResponse(status: 201), "memory:\(name)")
    }

    func open(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceStream {
        throw .interrupted("this service has no streams")
    }

    func perform(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceResponse {
        let path = request.path.split(separator: "?")[0]
        let (weather, chance, isAllowed) = state.withLock { state in
            state.requests.append("\(request.method) \(path)")
            return (
                state.weather, state.random.next() % 8,
                request.headers["Authorization"] == "Bearer \(state.validToken)"
            )
        }
        guard weather != .offline else { throw .offline("refused") }
        guard isAllowed else { return ServiceResponse(status: 401) }
        if case .answering(let status) = weather {
            return ServiceResponse(status: status, headers: status == 429 ? ["retry-after": "7"] : [:])
        }
        if weather == .stormy, chance == 0 { throw .interrupted("lost") }
        if weather == .stormy, chance == 1 { _ = answer(request) }
        let response = answer(request)
        if weather == .mute { throw .interrupted("the answer was lost") }
        if weather == .stormy, chance == 2 { throw .interrupted("the answer was lost") }
        if weather == .stormy, chance == 3 { return ServiceResponse(status: 503, headers: ["retry-after": "1"]) }
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
            return ServiceResponse(status: 500, body: Array("{\"detail\":\"\(error)\"}".utf8))
        }
    }

    private func problem(_ refusal: Refusal) -> ServiceResponse {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("error", refusal.name)
        writer.member("detail", refusal.message)
        writer.endObject()
        let status =
            switch refusal {
            case .invalid: 400
            case .unknownItem, .unknownEvent: 404
            case .itemGone, .compacted, .upToBeyondHead: 410
            default: 422
            }
        return ServiceResponse(status: status, body: writer.bytes)
    }

    private func route(_ request: ServiceRequest) throws -> ServiceResponse {
        let parts = request.path.split(separator: "?")
        let path = parts[0].split(separator: "/").map(String.init)
        let query = parts.count > 1 ? String(parts[1]) : ""
        if path[1] == "proofs" { return try growth(query) }
        let user = path[2]
        switch (request.method, path[3]) {
        case ("GET", "changes"): return try changes(of: user, query, request)
        case ("GET", "snapshot"): return try snapshot(of: user)
        case ("POST", let verb) where path.count == 4 || path[3] == "marks":
            let kind = ["seen": "seeTray", "marks": "mark", "undo": "undo", "notifications": "notify"][verb]
            return try perform(path.count == 5 ? "markAll" : kind ?? "", user, request)
        default: return ServiceResponse(status: 404)
        }
    }

    private func perform(_ kind: String, _ user: String, _ request: ServiceRequest) throws -> ServiceResponse {
        let body = String(decoding: request.body ?? [], as: UTF8.self)
        let line = "{\"kind\":\"\(kind)\",\"user\":\"\(user)\"" + (body == "{}" ? "" : ",") + body.dropFirst()
        let receipt = try store.blocking.perform(Command(json: Array(line.utf8).span))
        let seq = try receipt.seq ?? store.blocking.head()
        var writer = JSONWriter()
        writer.write(receipt)
        return ServiceResponse(
            status: 200, headers: ["traylog-seq": "\(seq)"], body: writer.bytes)
    }

    private func offset(_ stream: UInt32, _ seq: Seq) throws -> String {
        let digits = seq.description
        return "\(try store.blocking.storeIdentity())_\(stream)_" + String(repeating: "0", count: 20 - digits.count)
            + digits
    }

    private func changes(of user: String, _ query: String, _ request: ServiceRequest) throws -> ServiceResponse {
        let after = Seq(UInt64(query.suffix(20)) ?? 0)
        let changes = try store.blocking.changes(of: user, after: after, limit: 7)
        var headers = ["stream-next-offset": try offset(changes.stream, changes.through)]
        if changes.isComplete { headers["stream-up-to-date"] = "true" }
        if changes.isComplete, request.headers["Prefer"] == "tree-head" {
            let head = try store.blocking.treeHead()
            headers["traylog-tree-head"] = "\(head.size):\(head.root.hex)"
        }
        headers["etag"] = "\"\(after)-\(changes.events.isEmpty ? after : changes.through)\""
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
        return ServiceResponse(status: 200, body: writer.bytes)
    }

    private func snapshot(of user: String) throws -> ServiceResponse {
        let snapshot = try store.blocking.snapshot(of: user)
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("store", try store.blocking.storeIdentity())
        writer.member("stream", UInt64(snapshot.stream))
        writer.member("asOf", snapshot.asOf)
        writer.member("offset", try offset(snapshot.stream, snapshot.asOf))
        writer.member("floor", snapshot.floor)
        writer.name("tray")
        writer.write(snapshot.tray)
        for (name, names) in [
            ("mutedThreads", snapshot.mutedThreads), ("mutedCategories", snapshot.mutedCategories),
        ] {
            writer.name(name)
            writer.beginArray()
            for name in names { writer.value(name) }
            writer.endArray()
        }
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
        return ServiceResponse(status: 200, body: body + Array("{\"next\":null}\n".utf8))
    }
}
