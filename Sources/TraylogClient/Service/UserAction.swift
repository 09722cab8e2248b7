@_spi(Operations) @_spi(Wire) import TraylogDomain
import TraylogJSON

/// The request in an entry of a client's outbox.
enum UserAction: Hashable, Sendable {
    case command(Command)
    /// The undo of another entry, whose event is known once that was sent.
    case undo(entry: String)

    var payload: [UInt8] {
        switch self {
        case .command(let command): return Array(command.json.utf8)
        case .undo(let entry):
            var writer = JSONWriter()
            writer.beginObject()
            writer.member("undoes", entry)
            writer.endObject()
            return writer.bytes
        }
    }

    init(_ payload: [UInt8]) throws {
        let fields = try WireObject(payload)
        if let entry = try fields.string(maybe: "undoes") {
            self = .undo(entry: entry)
        } else {
            self = .command(try Command(line: payload.span))
        }
    }
}

extension ServiceRequest {
    /// The request of a user's command.
    ///
    /// - Parameter key: its idempotency key.
    init(_ command: Command, key: String) throws {
        let user = "/v1/users/\(PercentEncoding.encode(command.user ?? ""))"
        var bare: [String: String] = ["Idempotency-Key": key]
        bare["Traylog-Device"] = command.device
        switch command.action {
        case .notify: self.init("POST", "\(user)/notifications")
        case .seeTray: self.init("POST", "\(user)/seen")
        case .mark: self.init("POST", "\(user)/marks")
        case .markAll: self.init("POST", "\(user)/marks/all")
        case .undo: self.init("POST", "\(user)/undo")
        case .act(let item, _, _, _): self.init("POST", "\(user)/items/\(Self.path(item))/action")
        case .snooze(let item, _): self.init("PUT", "\(user)/items/\(Self.path(item))/snooze")
        case .wake(let item):
            self.init("DELETE", "\(user)/items/\(Self.path(item))/snooze", headers: bare)
            return
        case .mute(let scope, nil):
            self.init("PUT", "\(user)/mutes/\(Self.path(scope))", headers: bare)
            return
        case .mute(let scope, _): self.init("PUT", "\(user)/mutes/\(Self.path(scope))")
        case .unmute(let scope):
            self.init("DELETE", "\(user)/mutes/\(Self.path(scope))", headers: bare)
            return
        case .subscribe(let topic):
            self.init("PUT", "\(user)/subscriptions/\(PercentEncoding.encode(topic))", headers: bare)
            return
        case .unsubscribe(let topic):
            self.init("DELETE", "\(user)/subscriptions/\(PercentEncoding.encode(topic))", headers: bare)
            return
        default: throw WireFault("a device sends no such command")
        }
        headers["Content-Type"] = "application/json"
        // The service takes user and item, or the mute's scope, from the path, and the kind from the route.
        var given: Set = ["kind", "user", "item"]
        if case .mute = command.action { given.formUnion(["thread", "category", "topic", "all"]) }
        body = try WireObject(Array(command.with(key: key).json.utf8)).text(leavingOut: given)
    }

    private static func path(_ item: ItemReference) -> String {
        switch item {
        case .seq(let seq): seq.description
        case .key(let key): "key:\(PercentEncoding.encode(key))"
        }
    }

    private static func path(_ scope: MuteScope) -> String {
        switch scope {
        case .thread(let name): "threads/\(PercentEncoding.encode(name))"
        case .category(let name): "categories/\(PercentEncoding.encode(name))"
        case .topic(let name): "topics/\(PercentEncoding.encode(name))"
        case .all: "all"
        }
    }
}

extension WireObject {
    /// The object without some of its members.
    func text(leavingOut names: Set<String>) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        for (name, range) in ranges where !names.contains(name) {
            writer.name(escaping: name)
            writer.raw(String(decoding: text[range], as: UTF8.self))
        }
        writer.endObject()
        return writer.bytes
    }
}

/// The answer to a command, as it is kept with its entry.
struct ActionReceipt: Hashable, Sendable {
    /// `appended`, `unchanged` or `duplicate`.
    var result: String
    /// Its event; nil when nothing changed.
    var seq: Seq?
    /// The event through which a reader has its effect.
    var through: Seq

    var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("result", result)
        writer.member("seq", seq)
        writer.member("through", through)
        writer.endObject()
        return writer.bytes
    }

    init(result: String, seq: Seq?, through: Seq) { (self.result, self.seq, self.through) = (result, seq, through) }

    init?(_ bytes: [UInt8]?) {
        guard let bytes, let fields = try? WireObject(bytes), let result = try? fields.string("result"),
            let through = try? fields.seq("through")
        else { return nil }
        self.init(result: result, seq: (try? fields.seq(maybe: "seq")) ?? nil, through: through)
    }

    init(_ response: ServiceResponse) throws {
        let fields = try WireObject(response.body)
        let seq = try fields.seq(maybe: "seq")
        let through = response.headers["traylog-seq"].flatMap { WireNumber($0) }.map {
            Seq($0.clamped(to: 0...Seq.highest))
        }
        self.init(result: try fields.string("result"), seq: seq, through: max(seq ?? .zero, through ?? .zero))
    }
}
