import HTTPTypes
import Hummingbird
import Traylog
import TraylogServer

/// The console: pages in the browser for operators and auditors.
///
/// A session has the scopes of the key that signed in, and every page names the scope that it needs. What the pages do with
/// the store they do as the service's own routes would let that key.
final class Console: ServerPages {
    static let root = "/console"
    private static let data = root + "/data/"

    let service: HTTPService
    /// All of them, where the server is divided: each has pages of its own, below `/console/partitions/I`.
    let partitions: Partitions?
    let pages: Pages
    let signIns = RateLimits(perUser: 20, perKey: 20)
    private let compactions: [LastCompaction]
    private let recents: [RecentFigures]
    /// The tree heads that pages print, of this moment, or the last one while a new one takes long.
    ///
    /// Of a log whose tree was never stored the first one takes seconds for millions of events. Only the page that shows nothing
    /// else waits for it.
    private let treeHeads: [Background<TreeHead>]
    private let table: RouteTable
    private let byName: [String: ConsolePage]

    init(_ service: HTTPService, _ partitions: Partitions?) throws {
        (self.service, self.partitions) = (service, partitions)
        let services = partitions?.services ?? [service]
        compactions = services.map { LastCompaction($0.store) }
        recents = services.map { RecentFigures($0) }
        treeHeads = services.map { service in
            Background { _ in
                await service.treeAtStart.wait()
                // A store that is too damaged for it still has pages.
                return try? await service.store.proofs.treeHead()
            }
        }
        pages = try Pages()
        let all = ConsolePage.all
        table = RouteTable([RouteGroup(name: "console", summary: "Pages.", routes: all.map(\.route))])
        byName = Dictionary(all.map { ($0.route.pageName, $0) }) { first, _ in first }
    }

    var root: String { Self.root }
    var routes: [Route] { table.routes }

    /// Whether browsers reach the server by TLS, its own or a proxy's.
    var isSecure: Bool { service.configuration.isSecure }

    func page(of request: Request) -> (name: String, route: Route, user: String?)? {
        guard let path = request.head.path?.prefix(while: { $0 != "?" }) else { return nil }
        let own = ownPath(path, partition(of: path))
        guard own.hasPrefix(Self.data) else {
            guard let (route, values) = try? table.find(request.method, path: own[...]) else { return nil }
            return (route.path.text, route, values["u"])
        }
        guard let (route, values) = try? service.routes.find(.get, path: "/v1/" + own.dropFirst(Self.data.count)) else {
            return nil
        }
        return (Self.data + route.path.text.dropFirst("/v1/".count), route, values["u"])
    }

    /// The path as it is without partitions.
    private func ownPath(_ path: Substring, _ partition: Int) -> String {
        let site = site(partition)
        return Self.root + path.dropFirst(path.hasPrefix(site) ? site.count : Self.root.count)
    }

    func answer(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let target = try request.target()
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let (path, query) = (parts[0], parts.count > 1 ? parts[1] : nil)
        var response: Response
        var visit = try Visit(request, context, self, partition: partition(of: path))
        let address = try context.address(request, isBehindProxy: service.configuration.isBehindProxy)
        if let caller = visit.session?.caller { try service.admission.vouch(for: context.channel, as: caller) }
        visit.place = try service.admission.admit(visit.session?.caller ?? .nobody(at: address))
        visit.pageName = page(of: request)?.name ?? "none"
        do {
            if let address = try elsewhere(path, query, visit) {
                response = .seeOther(address)
            } else {
                let own = ownPath(path, visit.partition)
                if own.hasPrefix(Self.data) {
                    response = try await read(own.dropFirst(Self.data.count), query, visit)
                } else {
                    response = try await page(own[...], query, visit)
                }
            }
        } catch {
            response = visit.failure(visit.problem(error))
            visit.log(error, response.status)
        }
        if response.status == .seeOther, let address = response.headers[.location] {
            response.headers[.location] = visit.prefix + address
        }
        Self.protect(&response)
        return response.inParts(holding: visit.place)
    }

    // MARK: Partitions

    /// Where the pages of a partition are.
    func site(_ partition: Int) -> String { partitions == nil ? Self.root : "\(Self.root)/partitions/\(partition)" }

    func service(_ partition: Int) -> HTTPService { partitions?.services[partition] ?? service }

    func recent(_ partition: Int) -> RecentFigures { recents[partition] }

    func compaction(_ partition: Int) -> LastCompaction { compactions[partition] }

    /// The partition whose page it is; the first one for a page that says none.
    private func partition(of path: Substring) -> Int {
        guard let partitions else { return 0 }
        return partitions.services.indices.first { path == site($0) || path.hasPrefix(site($0) + "/") } ?? 0
    }

    /// Where a page is that was asked for without its partition, or a user's with another one.
    private func elsewhere(_ path: Substring, _ query: Substring?, _ visit: Visit) throws -> String? {
        guard let partitions, visit.request.method == .get else { return nil }
        let isOwn = path == visit.site || path.hasPrefix(visit.site + "/")
        let own = Self.root + path.dropFirst(isOwn ? visit.site.count : Self.root.count)
        guard !own.hasPrefix(Self.data) else { return nil }
        var site = visit.site
        if let (route, values) = try? table.find(.get, path: own[...]) {
            if route.access.isOpen { return nil }
            if let user = values["u"] { site = self.site(partitions.map.index(of: user)) }
        }
        guard !isOwn || site != visit.site else { return nil }
        return site + own.dropFirst(Self.root.count) + (query.map { "?" + $0 } ?? "")
    }

    private func page(_ path: Substring, _ query: Substring?, _ visit: Visit) async throws -> Response {
        if path != Self.root, path.hasSuffix("/") {
            return .seeOther(visit.site + path.dropFirst(Self.root.count).dropLast())
        }
        let (route, values) = try table.find(visit.request.method, path: path)
        guard let page = byName[route.pageName] else { throw Problem(.notFound, "Not found", "there is no such page") }
        let fields = try route.parse(query: query)
        if !route.access.isOpen {
            guard let session = visit.session else {
                if visit.request.method == .get { return .seeOther(visit.signInAddress) }
                throw Problem(
                    .unauthorized, "Signed out", "the session is over: sign in, and send the form again",
                    error: "tokenMissing")
            }
            try route.check(session.caller, path: values)
        }
        var asked = visit.with(values, fields, form: page.form)
        if route.shows == .user {
            try await asked.recordReading(of: asked.segment("u"))
            if visit.request.method == .get { asked = try await asked.withHold() }
        }
        guard visit.session != nil, visit.request.method == .get else { return try await page.show(asked) }
        return try await page.show(asked.with(await treeHeads[visit.partition].latest(within: .milliseconds(100))))
    }

    /// What the pages' scripts read: the service's own routes, with the session's key.
    private func read(_ path: Substring, _ query: Substring?, _ visit: Visit) async throws -> Response {
        guard visit.request.method == .get else {
            throw Problem(.methodNotAllowed, "Method not allowed", "this path is only read")
        }
        guard visit.session != nil else {
            throw Problem(.unauthorized, "Signed out", "the session is over: sign in again", error: "tokenMissing")
        }
        let target = "/v1/" + path + (query.map { "?" + $0 } ?? "")
        return try await visit.ask(.get, target, headers: visit.request.headers)
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

    /// The answer as a file for the reader to keep.
    ///
    /// - Parameters:
    ///   - parts: what tells it from other files: letters, digits, `-`, `_` and full stops stay; see ``FileName``.
    ///   - ending: such as `.html`.
    func kept(as parts: [String], ending: String) -> Response {
        var response = self
        let name = parts.map(FileName.part).joined(separator: "-") + ending
        response.headers[.contentDisposition] = "attachment; filename=\"\(name)\""
        return response
    }
}

extension HTTPField.Name {
    static let forwardedPrefix = Self("X-Forwarded-Prefix")!
    static let refresh = Self("Refresh")!
    static let referrerPolicy = Self("Referrer-Policy")!
    static let openerPolicy = Self("Cross-Origin-Opener-Policy")!
    static let fetchSite = Self("Sec-Fetch-Site")!
}

/// A page of the console, or what one sends: its route, and what it shows.
struct ConsolePage: Sendable {
    let route: Route
    /// The fields of a form that it takes, beside the token of the form.
    let form: [String]
    let show: @Sendable (Visit) async throws -> Response

    /// - Parameters:
    ///   - scope: of a key that may; nil for everybody, signed in or not.
    ///   - shows: by default of the user in the path, if there is one.
    init(
        _ method: HTTPRequest.Method, _ path: String, _ scope: Access, query: [String] = [],
        form: [String] = [], shows: Route.Content? = nil, _ show: @escaping @Sendable (Visit) async throws -> Response
    ) {
        route = Route(
            method, Console.root + path, as: "", "", scope, origins: .own, query: query, partition: .any,
            shows: shows ?? (PathTemplate(path).variables.contains("u") ? .user : .nobody), answers: .text("text/html")
        ) { _ in
            throw Problem(.notFound, "Not found", "there is no such page")
        }
        (self.form, self.show) = (form, show)
    }

    static var all: [ConsolePage] {
        SignInPages.all + OverviewPage.all + UserPages.all + TimelinePages.all + DifferencePage.all + EventPages.all
            + OperationPages.all + SearchPage.all + LookedPage.all + ItemPage.all + AudiencePage.all + PlannedPage.all
            + UndoForm.all + HoldPages.all
    }
}

extension Route {
    /// Tells the pages apart.
    var pageName: String { "\(method) \(path.text)" }
}
