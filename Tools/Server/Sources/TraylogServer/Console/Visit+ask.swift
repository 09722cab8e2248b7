import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

extension Visit {
    /// Asks one of the service's own routes, as a program with the session's key.
    func ask(
        _ method: HTTPRequest.Method, _ target: String, body: JSONValue? = nil, headers: HTTPFields = [:]
    ) async throws -> Response {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let (route, values) = try service.routes.find(method, path: parts[0])
        try route.check(session?.caller, path: values)
        var headers = headers
        if body != nil { headers[.contentType] = "application/json" }
        headers[.purpose] = session?.purpose
        let request = Request(
            head: HTTPRequest(method: method, scheme: nil, authority: nil, path: target, headerFields: headers),
            body: RequestBody(buffer: ByteBuffer(bytes: body?.bytes ?? [])))
        let query = try route.parse(query: parts.count > 1 ? parts[1] : nil)
        let call = Call(
            request: request, route: route, service: service, partitions: nil, caller: session?.caller,
            credential: credential ?? .none, channel: context.channel, path: values, query: query, place: place)
        try await call.checkOwner()
        if route.shows == .user { try await recordAccess(to: call.user) }
        return try await route.handler(call)
    }

    /// Records who looks at a person's pages, where the server was told to.
    func recordAccess(to user: String) async throws {
        try await service.recordAccess(to: user, by: session?.caller, purpose: session?.purpose)
    }

    /// Who reads this page, where it shows several persons.
    ///
    /// - Parameter isOfOne: whether the address names the person.
    func reader(isOfOne: Bool = false) -> Reader {
        Reader(
            service: service, caller: session?.caller, purpose: session?.purpose,
            page: route + (isOfOne ? "?user" : ""))
    }

    /// Starts a job, and returns its id.
    func start(_ kind: String, _ members: [(name: String, value: JSONValue?)]) async throws -> String {
        let answer = try await ask(.post, "/v1/admin/\(kind)", body: .present(members))
        guard let id = answer.headers[.location]?.split(separator: "/").last else {
            throw Problem(.internalServerError, "Internal error", "the job was not started")
        }
        return String(id)
    }
}
