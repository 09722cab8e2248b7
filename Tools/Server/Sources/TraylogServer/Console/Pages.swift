import Crypto
import HTTPTypes
import Hummingbird
import Mustache
@_spi(Replication) @_spi(Operations) import Traylog

/// The templates and the files of the console, which are compiled into the program.
struct Pages: Sendable {
    struct Asset: Sendable {
        let type: String
        let bytes: [UInt8]
    }

    private let library: MustacheLibrary
    private let assets: [String: Asset]
    /// Changes with the files, so that browsers may keep them.
    let version: String

    init() throws {
        MustacheContentTypes.register(PlainText(), named: "CONSOLE")
        var library = MustacheLibrary()
        for template in PageTemplate.allCases {
            // The part below the mark is sent later; see ``Visit/page(_:_:_:rest:)``.
            let parts = String(decoding: template.source, as: UTF8.self).split(separator: "{{! rest }}\n", maxSplits: 1)
            for (part, isRest) in zip(parts, [false, true]) {
                try library.register("{{% CONTENT_TYPE:CONSOLE}}" + part, named: template.name(isRest: isRest))
            }
        }
        self.library = library
        let scripts = Self.scripts.map { ($0.0, Asset(type: "text/javascript; charset=utf-8", bytes: $0.1)) }
        assets = Dictionary(
            scripts + [
                ("console.css", Asset(type: "text/css; charset=utf-8", bytes: PackageResources.console_css)),
                ("icons.svg", Asset(type: "image/svg+xml", bytes: PackageResources.icons_svg)),
            ]
        ) { first, _ in first }
        var hasher = SHA256()
        for name in assets.keys.sorted() { hasher.update(data: assets[name]?.bytes ?? []) }
        version = Array(hasher.finalize().prefix(6)).hex
    }

    func asset(_ name: String) -> Asset? { assets[name] }

    /// The page with its frame: head, navigation, and what every page says.
    ///
    /// - Parameter isRest: whether the part below the mark is meant.
    func render(_ template: PageTemplate, isRest: Bool, _ context: [String: Any]) -> [UInt8] {
        Array((library.render(context, withTemplate: template.name(isRest: isRest)) ?? "").utf8)
    }

    private static let scripts: [(String, [UInt8])] = [
        ("main.js", PackageResources.main_js), ("dom.js", PackageResources.dom_js),
        ("overview.js", PackageResources.overview_js), ("user.js", PackageResources.user_js),
        ("timeline.js", PackageResources.timeline_js), ("proof.js", PackageResources.proof_js),
        ("event.js", PackageResources.event_js), ("payload.js", PackageResources.payload_js),
        ("heads.js", PackageResources.heads_js), ("witnesses.js", PackageResources.witnesses_js),
        ("tree.js", PackageResources.tree_js), ("complete.js", PackageResources.complete_js),
        ("run.js", PackageResources.run_js), ("sheet.js", PackageResources.sheet_js),
        ("slider.js", PackageResources.slider_js),
    ]
}

/// The templates, by the names that they have for each other.
enum PageTemplate: String, CaseIterable {
    case audience
    case confirm
    case difference
    case event
    case failed
    case filter
    case finding
    case findings
    case foot
    case head
    case item
    case itemFilter = "item-filter"
    case log
    case logRow = "log-row"
    case looked
    case noRows = "no-rows"
    case operations
    case overview
    case planned
    case problem
    case rows
    case run
    case search
    case signIn = "sign-in"
    case timeline
    case tree
    case user
    case userHead = "user-head"
    case users

    /// Its name in the library.
    ///
    /// - Parameter isRest: whether the part below the mark is meant.
    fileprivate func name(isRest: Bool) -> String { isRest ? "\(rawValue)-rest" : rawValue }

    fileprivate var source: [UInt8] {
        switch self {
        case .audience: PackageResources.audience_mustache
        case .confirm: PackageResources.confirm_mustache
        case .difference: PackageResources.difference_mustache
        case .event: PackageResources.event_mustache
        case .failed: PackageResources.failed_mustache
        case .filter: PackageResources.filter_mustache
        case .finding: PackageResources.finding_mustache
        case .findings: PackageResources.findings_mustache
        case .foot: PackageResources.foot_mustache
        case .head: PackageResources.head_mustache
        case .item: PackageResources.item_mustache
        case .itemFilter: PackageResources.item_filter_mustache
        case .log: PackageResources.log_mustache
        case .logRow: PackageResources.log_row_mustache
        case .looked: PackageResources.looked_mustache
        case .noRows: PackageResources.no_rows_mustache
        case .operations: PackageResources.operations_mustache
        case .overview: PackageResources.overview_mustache
        case .planned: PackageResources.planned_mustache
        case .problem: PackageResources.problem_mustache
        case .rows: PackageResources.rows_mustache
        case .run: PackageResources.run_mustache
        case .search: PackageResources.search_mustache
        case .signIn: PackageResources.sign_in_mustache
        case .timeline: PackageResources.timeline_mustache
        case .tree: PackageResources.tree_mustache
        case .user: PackageResources.user_mustache
        case .userHead: PackageResources.user_head_mustache
        case .users: PackageResources.users_mustache
        }
    }
}

/// Text as HTML shows it, in elements and in quoted attributes.
///
/// What would be invisible, or would turn the text around it, is shown by its number; lines and tabs stay.
struct PlainText: MustacheContentType {
    func escapeText(_ text: String) -> String {
        VisibleText(text) { scalar in
            switch scalar.value {
            case 0x09, 0x0a: String(scalar)
            case 0...0x1f: VisibleText.picture(of: scalar).map { String($0) } ?? ""
            default: "[U+\(String(scalar.value, radix: 16, uppercase: true))]"
            }
        }.html
    }
}

extension Visit {
    /// A page of HTML.
    func page(
        _ template: PageTemplate, _ title: String, _ context: [String: Any] = [:], _ status: HTTPResponse.Status = .ok
    ) -> Response {
        Response(
            status: status, headers: Self.pageHeaders,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: html(template, title, context))))
    }

    private static var pageHeaders: HTTPFields {
        [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"]
    }

    /// A page whose top is sent, and shown, while the rest is still made.
    ///
    /// - Parameters:
    ///   - top: the context of the template's part above its mark. All that can be wrong with the request was checked.
    ///   - rest: makes the context of the part below.
    func page(
        _ template: PageTemplate, _ title: String, _ top: [String: Any], _ status: HTTPResponse.Status = .ok,
        rest: @escaping @Sendable () async throws -> [String: Any]
    ) -> Response {
        let top = html(template, title, top)
        let body = ResponseBody { writer in
            try await writer.write(ByteBuffer(bytes: top))
            let bytes = await withTaskExecutorPreference(globalConcurrentExecutor) {
                do {
                    return try await html(template, isRest: true, title, rest())
                } catch {
                    let problem = problem(error)
                    log(error, problem.status)
                    return html(.failed, title, ["detail": problem.detail, "advice": Self.advice(problem)])
                }
            }
            try await writer.write(ByteBuffer(bytes: bytes))
            try await writer.finish(nil)
        }
        return Response(status: status, headers: Self.pageHeaders, body: body)
    }

    /// Does what a page can be shown without; answers in words what is damaged, where that is why it cannot be done.
    func trouble(_ body: () async throws -> Void) async throws -> String? {
        do {
            try await body()
            return nil
        } catch {
            guard case TraylogError.failed(let failure) = error, failure.code == .damaged else { throw error }
            log(error, .internalServerError)
            return problem(error).detail
        }
    }

    /// Writes what the server failed at to its log; what the request got wrong is not for it.
    func log(_ error: any Error, _ status: HTTPResponse.Status) {
        guard !(error is Problem), status.code >= 500 else { return }
        service.log.write([("console", .string(route)), ("error", .string("\(error)"))])
    }

    /// Renders a template with a context, to which it adds what every page shows.
    func html(
        _ template: PageTemplate, isRest: Bool = false, _ title: String, _ context: [String: Any]
    ) -> [UInt8] {
        var context = context
        context["pageTitle"] = title
        context["assets"] = "\(prefix)\(Console.root)/assets/\(console.pages.version)"
        context["template"] = template.rawValue
        context["site"] = prefix + site
        context["seesTrays"] = may(.users)
        context["seesLog"] = may(.audit)
        if session != nil {
            context["failures"] = failures
            context["paper"] =
                [
                    "store": service.storeIdentity, "now": Moments.context(.now),
                    "size": treeHead.map { Figures.count($0.size) } ?? "unknown",
                    "root": treeHead?.root.hex ?? "unknown",
                ] as [String: Any]
        }
        context["hold"] = hold.map { [HoldPages.context($0)] } ?? []
        if let partitions = console.partitions {
            let section = context["section"] as? String ?? "overview"
            context["isDivided"] = true
            context["partitions"] = partitions.services.indices.map { index -> [String: Any] in
                [
                    "index": "\(index)", "isShown": index == partition,
                    "address": prefix + console.site(index) + (section == "overview" ? "" : "/" + section),
                ]
            }
        }
        if let session {
            context["session"] =
                [
                    "key": session.key.name ?? session.keyID, "keyID": session.keyID, "form": session.formToken(),
                    "role": role,
                    "mayUsers": may(.users), "mayAudit": may(.audit), "mayAdmin": may(.admin),
                    "searches": [may(.users) ? "users" : "", may(.audit) ? "events, keys and words" : ""]
                        .filter { !$0.isEmpty }.joined(separator: ", "),
                ] as [String: Any]
        }
        for section in ["overview", "users", "log", "tree", "operations"] where context["section"] as? String == section
        {
            context["in-" + section] = true
        }
        return console.pages.render(template, isRest: isRest, context)
    }

    /// The checks that found something, which every page names until a clean one.
    private var failures: [[String: Any]] {
        store.upkeepRecord.failures.map { failure in
            let name = failure.check.title
            return [
                "name": name, "count": Figures.count(failure.count, "problem"),
                "time": failure.time.map { [Moments.context($0)] } ?? [], "mayRead": may(.audit),
            ]
        }
    }

    private var role: String {
        let names = [(KeyScope.admin, "operator"), (.audit, "auditor"), (.users, "viewer")]
        return names.filter { may($0.0) }.map(\.1).joined(separator: ", ")
    }

    /// The problem of an error; whoever may read the log is told which event or page is damaged.
    func problem(_ error: any Error) -> Problem {
        service.noteDamage(error)
        if case TraylogError.failed(var failure) = error, may(.audit) {
            // Where the server keeps its files is nobody's business here.
            failure.message = failure.message.replacing(service.configuration.directory, with: "the store")
            return Problem(failure, tellsAll: failure.code == .damaged)
        }
        return Problem(error)
    }

    /// The page that says what went wrong, and what to do; for scripts as JSON.
    func failure(_ problem: Problem) -> Response {
        guard accept.contains("text/html") else { return problem.response }
        var response = page(
            .problem, problem.title,
            [
                "status": "\(problem.status.code)", "detail": problem.detail, "advice": Self.advice(problem),
                "signedOut": session == nil,
            ], problem.status)
        if let time = problem.headers[.retryAfter] { response.headers[.retryAfter] = time }
        return response
    }

    private static func advice(_ problem: Problem) -> String {
        switch problem.status.code {
        case 401: "Sign in again, then repeat what you did."
        case 403: "Somebody whose key has that scope can do it, or give you one: the operator makes keys."
        case 404: "Check the address, or look for it from the overview."
        case 410: "What was there has left the log. The log's page shows the events that are left."
        case 429: "Wait a little."
        case 500...: "The server's log says more, at this time. If it stays, run traylog verify on the store."
        default: "Go back and correct the field named above."
        }
    }
}
