import HTTPTypes
import Hummingbird
import Synchronization
import Traylog

/// The console: pages in the browser for operators and auditors.
///
/// A session has the scopes of the key that signed in, and every page names the scope that it needs. What the pages do with
/// the store they do as the service's own routes would let that key.
final class Console: Sendable {
    static let root = "/console"
    private static let data = root + "/data/"

    let service: Service
    let sessions = Sessions()
    let pages: Pages
    /// Whether browsers reach the server by TLS, its own or a proxy's.
    let isSecure: Bool
    let signIns = RateLimits(perUser: 20, perKey: 20)
    let compactions = LastCompaction()
    private let routes: RouteTable
    private let byName: [String: ConsolePage]

    init(_ service: Service, isSecure: Bool) throws {
        self.service = service
        self.isSecure = isSecure
        pages = try Pages()
        let all = ConsolePage.all
        routes = RouteTable(all.map(\.route))
        byName = Dictionary(all.map { ($0.route.name, $0) }) { first, _ in first }
    }

    /// Whether a request is below `/console`.
    func has(_ request: Request) -> Bool {
        let path = (request.head.path ?? "/").prefix { $0 != "?" }
        return path == Self.root || path.hasPrefix(Self.root + "/")
    }

    func answer(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let target = request.head.path ?? "/"
        guard target.utf8.count <= Service.longestTarget else { throw Problem.targetTooLong }
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var response: Response
        let visit = Visit(request, context, self)
        do {
            if parts[0].hasPrefix(Self.data) {
                response = try await read(target, visit)
            } else {
                response = try await page(parts[0], parts.count > 1 ? parts[1] : nil, visit)
            }
        } catch {
            response = visit.failure(Problem(error))
            if !(error is Problem), response.status.code >= 500 {
                service.log.write([("console", .string("\(parts[0])")), ("error", .string("\(error)"))])
            }
        }
        Self.protect(&response)
        return response
    }

    private func page(_ path: Substring, _ query: Substring?, _ visit: Visit) async throws -> Response {
        if path != Self.root, path.hasSuffix("/") { return .seeOther(String(path.dropLast())) }
        let (route, values) = try routes.find(visit.request.method, path: path)
        guard let page = byName[route.name] else { throw Problem(.notFound, "Not found", "there is no such page") }
        let fields = try route.parse(query: query)
        if !route.access.isOpen {
            guard let session = visit.session else {
                if visit.request.method == .get { return .seeOther(visit.signInAddress) }
                throw Problem(.unauthorized, "Signed out", "the session is over: sign in, and send the form again")
            }
            try route.access.check(session.caller, user: nil)
        }
        return try await page.show(visit.with(values, fields))
    }

    /// What the pages' scripts read: the service's own routes, with the session's key.
    private func read(_ target: String, _ visit: Visit) async throws -> Response {
        guard visit.request.method == .get else {
            throw Problem(.methodNotAllowed, "Method not allowed", "this path is only read")
        }
        guard visit.session != nil else {
            throw Problem(.unauthorized, "Signed out", "the session is over: sign in again")
        }
        return try await visit.ask(.get, "/v1/" + target.dropFirst(Self.data.count), headers: visit.request.headers)
    }

    /// What a page may load, and who may look at it.
    private static func protect(_ response: inout Response) {
        response.headers[.contentSecurityPolicy] =
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
            + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
        response.headers[.referrerPolicy] = "no-referrer"
        response.headers[.openerPolicy] = "same-origin"
        response.headers[.resourcePolicy] = "same-origin"
    }
}

extension Response {
    static func seeOther(_ address: String) -> Response {
        Response(status: .seeOther, headers: [.location: address])
    }
}

extension HTTPField.Name {
    static let referrerPolicy = Self("Referrer-Policy")!
    static let openerPolicy = Self("Cross-Origin-Opener-Policy")!
    static let resourcePolicy = Self("Cross-Origin-Resource-Policy")!
    static let fetchSite = Self("Sec-Fetch-Site")!
}
