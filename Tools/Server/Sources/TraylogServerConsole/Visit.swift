import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
@_spi(Operations) @_spi(Wire) import Traylog
import TraylogServer

/// One request to the console, and whose session it belongs to.
struct Visit: Sendable {
    let request: Request
    let context: ServiceContext
    let console: Console
    /// The partition whose page it is; 0 for a server that has one.
    let partition: Int
    /// Nil for who is not signed in.
    let session: Sessions.Session?
    /// What the session's answers rest on.
    let credential: Credential?
    /// The place of this request: of the session's key, or of an address without one.
    var place: Admission.Place?
    /// What the browser would like to get.
    let accept: String
    /// The tree head that the page's paper names; nil where it could not be read.
    private(set) var treeHead: TreeHead?
    /// The event that put the page's person on legal hold; nil for somebody who is not held, and for other pages.
    private(set) var hold: Event?
    /// What a proxy takes from the front of the path, as it says in `X-Forwarded-Prefix`; empty without one.
    let prefix: String
    /// The template of the page's path, or of the route that its scripts read; the log names pages by it.
    var pageName = "none"
    private(set) var path: [String: String] = [:]
    private(set) var query: [String: String] = [:]
    private var formFields: [String] = []

    /// - Throws: ``Problem`` 400 for a header that is no text.
    init(_ request: Request, _ context: ServiceContext, _ console: Console, partition: Int) throws(Problem) {
        self.partition = partition
        self.request = request
        self.context = context
        self.console = console
        accept = try request.headers.text(.accept) ?? ""
        let given = console.service.configuration.isBehindProxy ? try request.headers.text(.forwardedPrefix) : nil
        prefix = given.flatMap(Self.prefix) ?? ""
        token = try Self.cookie(Self.cookieName(console), of: request)
        zone = try Self.cookie("traylog-zone", of: request).flatMap {
            PercentEncoding.decode($0[...], plusIsSpace: false)
        }
        let found = token.flatMap { console.service.authenticator.session($0) }
        (session, credential) = (found?.session, found?.credential)
    }

    /// A path that pages can stand below; nil for any other text.
    private static func prefix(_ text: String) -> String? {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let isPath = parts.count > 1 && parts[0].isEmpty && text.utf8.count <= 256
        let areNames = parts.dropFirst().allSatisfy { part in
            !part.isEmpty && !part.allSatisfy { $0 == UInt8(ascii: ".") }
                && part.allSatisfy { PercentEncoding.isUnreserved($0) }
        }
        return isPath && areNames ? text : nil
    }

    func with(_ path: [String: String], _ query: [String: String], form: [String] = []) -> Visit {
        var visit = self
        visit.formFields = form
        // An empty field of a form is one that was left out.
        (visit.path, visit.query) = (path, query.filter { !$0.value.isEmpty })
        return visit
    }

    /// The same page without some fields of its address.
    func without(_ fields: [String]) -> Visit {
        var visit = self
        for field in fields { visit.query[field] = nil }
        return visit
    }

    func with(_ treeHead: TreeHead?) -> Visit {
        var visit = self
        visit.treeHead = treeHead
        return visit
    }

    /// The same page, which knows whether its person is held.
    ///
    /// A log that cannot be read for it leaves the page without.
    func withHold() async throws -> Visit {
        var visit = self
        visit.hold = try? await service.holds.hold(of: segment("u"))
        return visit
    }

    /// The names of those on legal hold, in all partitions, as bytes.
    func heldNames() async -> Set<[UInt8]> {
        var names: Set<[UInt8]> = []
        for service in console.partitions?.services ?? [service] {
            names.formUnion(await service.holds.latest()?.names ?? [])
        }
        return names
    }

    var service: HTTPService { console.service(partition) }
    /// Where the partition's pages are.
    var site: String { console.site(partition) }
    var store: Store { service.store }
    /// Those of all partitions.
    var stores: [Store] { (console.partitions?.services ?? [service]).map(\.store) }

    func may(_ scope: KeyScope) -> Bool { session?.caller.may(scope) ?? false }

    /// A variable that the path has.
    func segment(_ name: String) -> String {
        guard let value = path[name] else { preconditionFailure("The path has no \(name).") }
        return value
    }

    func moment(_ name: String) throws(Problem) -> Moment? {
        guard let text = query[name] else { return nil }
        guard let moment = typed.moment(text) else { throw .invalid(name, "must be \(TypedTime.forms)") }
        return moment
    }

    func time(_ name: String) throws(Problem) -> Timestamp? {
        guard let text = query[name] else { return nil }
        guard let time = typed.time(text) ?? typed.timeAgo(text) else {
            throw .invalid(
                name, "must be a time such as 2026-11-22 09:00, 2026-11-22T09:00:00Z, 2h, today or yesterday")
        }
        return time
    }

    /// Reads times in the zone in which the browser shows them, which a script of the page has told; UTC without one.
    var typed: TypedTime {
        guard let zone = zone.flatMap(TimeZone.init(identifier:)) else { return .utc }
        func date(_ time: Timestamp) -> Date { Date(timeIntervalSince1970: Double(time.milliseconds) / 1_000) }
        return TypedTime(
            zoneName: { zone.abbreviation(for: date($0)) },
            secondsFromUTC: { Int64(zone.secondsFromGMT(for: date($0))) })
    }

    /// The fields of this address, as a form that its page has.
    var typedFields: TypedFields { TypedFields(values: query) }

    /// A form with what is wrong with it.
    ///
    /// - Parameters:
    ///   - typed: the fields of a form that was sent; nil for those of the address.
    ///   - fields: those that a page can say something beside.
    /// - Returns: nil for a problem that is about none of these fields.
    func refused(_ error: any Error, typed: [String: String]? = nil, fields: [String]) -> TypedFields? {
        let problem = problem(error)
        // A refusal is about what was typed even if it names no field; "another node decides" is not.
        let first = [410, 422].contains(problem.status.code) ? fields.first : nil
        guard problem.status.code < 500,
            let name = problem.members.first(where: { $0.name == "field" })?.value.string ?? first,
            fields.contains(name), problem.status != .unauthorized, problem.status != .forbidden
        else { return nil }
        let reason =
            problem.detail.hasPrefix("\(name): ") ? String(problem.detail.dropFirst(name.count + 2)) : problem.detail
        return TypedFields(
            values: typed ?? query, wrong: name, reason: reason.prefix(1).uppercased() + reason.dropFirst(),
            status: problem.status)
    }

    func seq(_ name: String) throws(Problem) -> Seq? {
        guard let text = query[name] else { return nil }
        guard let number = TypedTime.number(text) else { throw .invalid(name, "must be a number") }
        return number.seq
    }

    // MARK: Cookies

    /// Browsers keep a name with this prefix to TLS, this host and the path /.
    private static func cookieName(_ console: Console) -> String { console.isSecure ? "__Host-traylog" : "traylog" }

    private static func cookie(_ name: String, of request: Request) throws(Problem) -> String? {
        let pairs = try request.headers.texts(.cookie).flatMap { $0.split(separator: ";") }
        for pair in pairs {
            let parts = pair.split(separator: "=", maxSplits: 1).map(\.trimmingSpaces)
            if parts.count == 2, parts[0] == name { return parts[1] }
        }
        return nil
    }

    /// The session's, as the cookie has it.
    let token: String?
    /// The name of the browser's zone, as a script of the pages has set it.
    private let zone: String?

    /// The cookie that carries a session's token; nil takes it away.
    func cookie(_ token: String?) -> String {
        "\(Self.cookieName(console))=\(token ?? ""); Path=/; HttpOnly; SameSite=Strict"
            + (console.isSecure ? "; Secure" : "") + (token == nil ? "; Max-Age=0" : "")
    }

    /// Where to sign in, to come back here.
    var signInAddress: String {
        let target = request.head.path ?? Console.root
        let isPage = target != Console.root
        return "\(Console.root)/sign-in" + (isPage ? "?next=\(PercentEncoding.encode(target))" : "")
    }

    // MARK: Forms

    /// The fields of a form that this session's own page sent, for the first time.
    ///
    /// - Throws: ``Problem`` 403 for another site's form, one that was sent before, and one of another session.
    func form() async throws -> [String: String] {
        try checkOrigin(isNeeded: true)
        let fields = try await fields()
        guard let token, let form = fields["form"], service.authenticator.sessions.spend(form: form, of: token) else {
            throw Problem(
                .forbidden, "Forbidden",
                "this form was sent before, or belongs to a session that is over: open its page anew, and send it from there",
                error: "formExpired")
        }
        // The body may have taken long; the session's key may have ended meanwhile.
        if let credential { try service.authenticator.check(credential) }
        return fields
    }

    /// - Throws: ``Problem`` 400, 408, 413, 415, 429.
    func fields() async throws -> [String: String] {
        let type = try request.headers.mediaType()
        guard type == "application/x-www-form-urlencoded" else {
            throw Problem(.unsupportedMediaType, "Unsupported", "the body must be a form")
        }
        let body = try await request.wholeBody(
            atMost: Route.shortBody, holding: place, console.service.admission)
        var fields: [String: String] = [:]
        for pair in String(decoding: body, as: UTF8.self).split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentEncoding.decode(sides[0], plusIsSpace: true),
                let value = PercentEncoding.decode(sides.count > 1 ? sides[1] : "", plusIsSpace: true),
                name == "form" || formFields.contains(name), fields.updateValue(value, forKey: name) == nil
            else { throw Problem.invalid("form", "is malformed") }
        }
        return fields
    }

    /// Refuses what another site sent.
    ///
    /// Under `no-referrer` browsers send the origin `null` with a page's own forms; then `Sec-Fetch-Site`, which no page can
    /// set, decides.
    func checkOrigin(isNeeded: Bool) throws(Problem) {
        let (origin, site) = (try request.headers.text(.origin), try request.headers.text(.fetchSite))
        let own = "\(console.isSecure ? "https" : "http")://\(request.head.authority ?? "")"
        let isOwn =
            switch (origin, site) {
            case (nil, nil): !isNeeded
            case (nil, let site?), ("null", let site?): site == "same-origin"
            case (let origin?, let site): origin == own && (site == nil || site == "same-origin")
            }
        guard isOwn else {
            throw Problem(
                .forbidden, "Forbidden", "another site sent this form: send it from the console's own page",
                error: "originNotAllowed")
        }
    }
}

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
        // A session cannot be sent on.
        if let node = try await call.decidingNode() {
            throw Problem(
                .misdirectedRequest, "Another node decides",
                "this node follows: sign in at \(node)\(Console.root), and do it there")
        }
        return try await call.handled()
    }

    /// Records who looks at a person's pages, where the server was told to.
    func recordReading(of user: String) async throws {
        try await service.recordReading(of: user, by: session?.caller, purpose: session?.purpose)
    }

    /// Who reads this page, where it shows several persons.
    ///
    /// - Parameter isOfOne: whether the address names the person.
    func reader(isOfOne: Bool = false) -> Reader {
        Reader(
            service: service, caller: session?.caller, purpose: session?.purpose,
            page: pageName + (isOfOne ? Reader.ofOnePerson : ""))
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

/// What was typed into a form, and what is wrong with it.
struct TypedFields: Sendable {
    var values: [String: String] = [:]
    /// The name of the field that is wrong.
    var wrong: String?
    var reason = ""
    /// Of the page that shows the form.
    var status = HTTPResponse.Status.ok

    subscript(name: String) -> Field {
        Field(value: values[name] ?? "", error: name == wrong ? reason : nil)
    }

    /// A field of a form as its page shows it.
    struct Field {
        let value: String
        var error: String?
    }
}
