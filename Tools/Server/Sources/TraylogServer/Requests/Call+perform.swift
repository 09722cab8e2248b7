import HTTPTypes
import Hummingbird
@_spi(JSON) import Traylog
@_spi(JSON) import TraylogJSON

extension Call {
    /// Makes a command of the body's members and of what the path says.
    ///
    /// - Parameter needsBody: whether a request without a body is refused; otherwise it is one without members.
    nonisolated(nonsending) func command(
        _ kind: String, user: String?, item: ItemReference? = nil, topic: String? = nil, thread: String? = nil,
        category: String? = nil, all: Bool = false, needsBody: Bool = false
    ) async throws -> Command {
        let body = try await body()
        if needsBody, body.allSatisfy(JSONValue.isSpace) {
            throw Problem.invalid("body", "must be one JSON object")
        }
        let command = try Command(
            body: body.span, kind: kind, user: user, item: item, topic: topic, thread: thread, category: category,
            all: all)
        // Without a user in the path, one in the body would make it another command.
        guard (command.user == nil) == (user == nil) else { throw Problem.invalid("user", "goes into the path") }
        let whole = attributed(try with(headersOf: command))
        try await checkNames(of: whole)
        return whole
    }

    /// Adds what headers say: the key, and without a body the device.
    ///
    /// A token's user is the actor.
    private func with(headersOf command: Command) throws -> Command {
        var command = command
        if let key = try idempotencyKey() {
            if let given = command.key, !given.utf8.elementsEqual(key.utf8) {
                throw Problem.invalid("key", "is not the key of the header Idempotency-Key")
            }
            command.key = key
        }
        if command.device == nil { command.device = try headers.text(.device) }
        if case .user(let user, _) = caller { command.actor = user == command.user ? nil : user }
        return command
    }

    /// The header `Idempotency-Key`, bare or quoted.
    package func idempotencyKey() throws(Problem) -> String? {
        guard var text = try headers.text(.idempotencyKey) else { return nil }
        if text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") { text = String(text.dropFirst().dropLast()) }
        guard !text.isEmpty, text.utf8.count <= Limits.identifierBytes else {
            throw .invalid("Idempotency-Key", "must have 1 to \(Limits.identifierBytes) bytes")
        }
        return text
    }

    /// Performs a command and answers with its result.
    ///
    /// - Parameters:
    ///   - created: the status of an answer that stored something.
    ///   - withTray: adds the user's tray.
    package nonisolated(nonsending) func perform(
        _ command: Command, created: HTTPResponse.Status = .ok, location: (Seq) -> String? = { _ in nil },
        withTray: Bool = false
    ) async throws -> Response {
        let receipt = try await store.perform(command)
        var writer = JSONWriter()
        writer.beginObject()
        writer.members(receipt)
        if withTray, let user = command.user {
            writer.name("tray")
            writer.write(try await store.tray(of: user))
        }
        writer.endObject()
        var headers: HTTPFields = [:]
        var seen = receipt.seq
        if seen == nil { seen = try await store.log.head() }
        headers[.seq] = seen?.description
        var status = HTTPResponse.Status.ok
        switch receipt {
        case .appended(let seq):
            status = created
            headers[.location] = location(seq)
        case .duplicate(let seq):
            headers[.idempotencyReplayed] = "true"
            headers[.location] = location(seq)
        case .unchanged: break
        }
        return .json(writer.bytes, status, headers: headers)
    }
}

extension Receipt {
    /// The members of its JSON, to stand among those of an answer.
    package var members: [(name: String, value: JSONValue)] {
        switch self {
        case .appended(let seq): [("result", "appended"), ("seq", JSONValue(seq))]
        case .unchanged: [("result", "unchanged")]
        case .duplicate(let seq): [("result", "duplicate"), ("seq", JSONValue(seq))]
        }
    }
}

extension Result<Receipt, Problem> {
    /// One result of many.
    package var members: [(name: String, value: JSONValue)] {
        switch self {
        case .success(let receipt): return receipt.members
        case .failure(let problem):
            let members: [(name: String, value: JSONValue)] = [
                ("result", "refused"), ("error", .string(problem.error ?? "")), ("message", .string(problem.detail)),
            ]
            return members + problem.members.filter { $0.name == "revision" }
        }
    }
}
