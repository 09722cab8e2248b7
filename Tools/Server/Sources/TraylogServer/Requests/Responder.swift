import HTTPTypes
import Hummingbird
import Synchronization
@_spi(Operations) import Traylog

/// Answers every request: finds the route, checks who may, and turns what goes wrong into a problem.
package struct Responder: HTTPResponder {
    package let service: Service
    package let routes: RouteTable
    /// Nil where no part has pages, or none are wanted.
    package let pages: (any ServerPages)?
    /// Nil for a server with one store.
    package let partitions: Partitions?
    /// Nil where requests are not noted.
    var underWay: RequestsUnderWay?

    package nonisolated(nonsending) func respond(to request: Request, context: ServiceContext) async throws -> Response
    {
        // Locals of this function live as long as a stream, and there may be ten thousand: so the rest is in functions that do not wait.
        let note = RequestNote()
        let response: Response
        do {
            response = try await answer(request, context, note)
        } catch {
            response = problem(error, note).response
        }
        return finished(response, request, note)
    }

    private func problem(_ error: any Error, _ note: RequestNote) -> Problem {
        let problem = Problem(error)
        if problem.status.code >= 500 {
            service.log.write([("request", .string(note.id)), ("error", .string("\(error)"))])
        }
        return problem
    }

    /// Every answer has these, unless it says something else.
    private static let usual = [
        HTTPField(name: .cacheControl, value: "no-store"), HTTPField(name: .xContentTypeOptions, value: "nosniff"),
    ]

    /// Adds what every answer has, counts it, and logs it.
    private func finished(_ response: Response, _ request: Request, _ note: RequestNote) -> Response {
        var response = response
        if let standing = note.standing { response.headers.set(standing) }
        response.headers.append(HTTPField(name: .requestID, value: note.id))
        switch origins(note, request) {
        case .any: response.headers[.accessControlAllowOrigin] = "*"
        case .allowed: service.configuration.origins.add(to: &response.headers, of: request)
        case .own: break
        }
        for field in Self.usual where !response.headers.contains(field.name) { response.headers.append(field) }
        // A HEAD has the length that GET would have; a body that is made while it is sent has none.
        if request.method == .head, response.body.contentLength == nil {
            response.body = .unsent
        } else if request.method == .head {
            response = Response(status: response.status, headers: response.headers)
        }
        response = response.inParts(holding: note.place)
        let duration = ContinuousClock.now - note.start
        // What is made while it is sent is under way until then; a stream of events may last for hours.
        if let entry = note.underWay, response.body.contentLength == nil,
            response.headers[.contentType]?.hasPrefix("text/event-stream") != true
        {
            response.body = ResponseBody { [body = response.body] writer in
                try await body.write(writer)
                withExtendedLifetime(entry) {}
            }
        }
        let route = note.page ?? note.route?.path.text ?? "none"
        service.metrics.note(
            route: route, method: request.method.rawValue, status: response.status.code, duration: duration)
        let user = service.configuration.logsUsers ? note.user : nil
        service.log.note { [id = note.id, method = request.method.rawValue, code = response.status.code] line in
            line.member("request", id)
            line.member("method", method)
            line.member("route", route)
            line.member("status", code)
            line.member("ms", raw: String(Double(Int(duration / .microseconds(10))) / 100))
            line.member("user", user)
        }
        return response
    }

    /// What is noted of a request on its way.
    private final class RequestNote {
        private static let next = Atomic(UInt64.random(in: 0 ... .max))

        /// Names the request in its answer and in the log; no two of a server are equal.
        let id: String
        let number = RequestNote.next.wrappingAdd(1, ordering: .relaxed).newValue
        let start = ContinuousClock.now
        var route: Route?
        /// The page, or what its scripts read, as ``ServerPages`` names it.
        var page: String?
        var underWay: RequestsUnderWay.Entry?
        var user: String?
        var standing: RateLimits.Standing?
        var place: Admission.Place?

        init() { id = number.hex }
    }

    nonisolated(nonsending) private func answer(
        _ request: Request, _ context: ServiceContext, _ note: RequestNote
    ) async throws -> Response {
        if request.method == .options, let response = try preflight(request, note) { return response }
        if let pages, pages.has(request) {
            if let place = pages.page(of: request) {
                (note.page, note.user) = (place.name, place.user)
                note.underWay = underWay?.begin(place.route, id: note.number)
            }
            return try await withTaskExecutorPreference(globalConcurrentExecutor) {
                try await pages.answer(request, context)
            }
        }
        let call = try call(request, context, note)
        let response =
            if let partitions { try await partitions.answer(call) } else { try await call.answer() }
        // What was read may be somebody else's, if the token's user was erased meanwhile.
        if case .token = call.credential { try call.checkCredential() }
        return response
    }

    /// The pages that may read an answer.
    private func origins(_ note: RequestNote, _ request: Request) -> Route.Origins {
        if let route = note.route { return route.origins }
        guard let path = request.head.path else { return .own }
        return routes.origins(of: path.prefix { $0 != "?" })
    }

    /// The answer to a browser that asks what pages of another origin may send; it costs nobody anything.
    ///
    /// - Returns: nil for a request that is none, or where no origin is allowed.
    private func preflight(_ request: Request, _ note: RequestNote) throws(Problem) -> Response? {
        let origins = service.configuration.origins
        guard !origins.isEmpty, request.headers.contains(.origin) else { return nil }
        let path = try request.target().prefix { $0 != "?" }
        switch self.origins(note, request) {
        case .any: break
        case .allowed where origins.allows(request): break
        case .allowed, .own: throw .originNotAllowed
        }
        let found = routes.routes(at: path)
        note.route = found.first
        return AllowedOrigins.preflight(found, request)
    }

    /// Finds the route, and checks who may.
    private func call(_ request: Request, _ context: ServiceContext, _ note: RequestNote) throws -> Call {
        let target = try request.target()
        let mark = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        var (route, path) = try routes.find(request.method, path: target[..<(mark ?? target.endIndex)])
        note.route = route
        note.underWay = underWay?.begin(route, id: note.number)
        note.user = path["u"]
        let (caller, credential) = try caller(request, route, context, note)
        // The user of a token need not be named.
        if case .user(let name, _) = caller, path["u"] == "me" {
            path["u"] = name
            note.user = name
        }
        try route.check(caller, path: path)
        let query = try route.parse(
            query: mark.map { target[target.utf8.index(after: $0)...] }, also: partitions == nil ? nil : Call.partition)
        return Call(
            request: request, route: route, service: service, partitions: partitions, caller: caller,
            credential: credential, channel: context.channel, path: path, query: query, place: note.place)
    }

    /// Who sends the request; nil where no credentials are asked for.
    ///
    /// Takes one request from the caller's bucket.
    private func caller(
        _ request: Request, _ route: Route, _ context: ServiceContext, _ note: RequestNote
    ) throws(Problem) -> (caller: Caller?, credential: Credential) {
        guard !route.access.isFree else { return (nil, .none) }
        let credentials: Result<(caller: Caller?, credential: Credential), Problem> =
            if route.access.isOpen { .success((nil, .none)) } else {
                Result { () throws(Problem) in
                    let field = try request.headers.text(.authorization)
                    if let digest = try nodeDigest(request, field) { return (.node, .node(bodyDigest: digest)) }
                    return try service.authenticator.caller(presenting: field.map(route.access.bearer))
                }
            }
        let caller = (try? credentials.get())?.caller
        // Callers without valid credentials count by address, so that guessing costs nobody else anything.
        let account =
            if let caller { caller } else {
                try Caller.nobody(at: context.address(request, isBehindProxy: service.configuration.isBehindProxy))
            }
        if let caller { try service.admission.vouch(for: context.channel, as: caller) }
        note.place = try service.admission.admit(account)
        note.standing = service.admission.rates.take(account)
        if let standing = note.standing, !standing.isAllowed {
            service.admission.note(.rate)
            var problem = Problem(.tooManyRequests, "Too many requests", "the rate limit is \(standing.limit) a minute")
            problem.headers[.retryAfter] = String(standing.resetSeconds)
            throw problem
        }
        return try credentials.get()
    }

    /// The digest that the body must have, of a request that another node signed; nil for any other.
    private func nodeDigest(_ request: Request, _ field: String?) throws(Problem) -> String? {
        guard let pass = service.pass, let field else { return nil }
        return pass.bodyDigest(request.method.rawValue, try request.target(), field)
    }
}

extension HTTPFields {
    fileprivate mutating func set(_ standing: RateLimits.Standing) {
        self[.rateLimitPolicy] = "\"default\";q=\(standing.limit);w=60"
        self[.rateLimit] = "\"default\";r=\(standing.remaining);t=\(standing.resetSeconds)"
    }
}

extension Call {
    /// Waits for the event that the caller wants to see, as `Traylog-Min-Seq` names it.
    package func waitForWrites() async throws {
        if let seq = try awaitedSeq() { try await wait(for: seq) }
    }

    /// Waits up to five seconds until this node has an event.
    ///
    /// - Throws: ``Problem`` 503 when it does not come.
    package func wait(for seq: Seq) async throws {
        let deadline = ContinuousClock.now + .seconds(5)
        while try await store.log.head() < seq {
            guard ContinuousClock.now < deadline else {
                throw Problem.unavailable("event \(seq) is not here yet")
            }
            try checkCredential()
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// A seq, or with partitions also `PARTITION:SEQ` with commas between, of which one may be this log's.
    private func awaitedSeq() throws(Problem) -> Seq? {
        guard let text = try headers.text(.minSeq) else { return nil }
        if let seq = Seq(text) { return seq }
        guard let own = service.partition else { throw .invalid("Traylog-Min-Seq", "must be a seq") }
        var found: Seq?
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let sides = part.trimmingSpaces.split(separator: ":", omittingEmptySubsequences: false)
            guard sides.count == 2, let partition = Int(sides[0]), let seq = Seq(String(sides[1])) else {
                throw .invalid("Traylog-Min-Seq", "must be a seq, or PARTITION:SEQ with commas between")
            }
            if partition == own { found = seq }
        }
        return found
    }
}
