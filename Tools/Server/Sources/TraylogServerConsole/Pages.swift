import Crypto
import HTTPTypes
import Hummingbird
import Mustache
@_spi(Replication) @_spi(Operations) import Traylog
import TraylogServer

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

    /// A template with its page, or with the rest of its page, in the frame.
    ///
    /// - Parameter isRest: whether the part below the mark is meant.
    func render(_ template: PageTemplate, isRest: Bool, _ page: Any, in frame: Frame) -> [UInt8] {
        let context = Self.members(of: frame).merging(Self.members(of: page)) { $1 }
        return Array((library.render(context, withTemplate: template.name(isRest: isRest)) ?? "").utf8)
    }

    /// The members of a struct by their names, as the library looks them up.
    ///
    /// It would also look into structs themselves, but reflect all members anew for each name that it shows.
    private static func members(of value: Any) -> [String: Any] {
        var members: [String: Any] = [:]
        for (name, member) in Mirror(reflecting: value).children {
            if let name { members[name] = shown(member) }
        }
        return members
    }

    private static func shown(_ value: Any) -> Any {
        switch value {
        case let text as String: return text
        case let isSo as Bool: return isSo
        case let seq as Seq: return seq.description
        case let time as Timestamp: return ["iso": time.description, "text": Moments.text(time)]
        case let list as [Any]: return list.map(shown)
        default:
            let mirror = Mirror(reflecting: value)
            guard mirror.displayStyle == .optional else { return members(of: value) }
            return mirror.children.first.map { shown($0.value) } ?? Absent()
        }
    }

    /// Shows nothing; the library would look for a member that is nil in the structs around it.
    private struct Absent: MustacheCustomRepresentation {
        var representation: Any? { nil }
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
    case damage
    case difference
    case event
    case failed
    case filter
    case finding
    case findings
    case foot
    case head
    case hold
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

    /// Where its page is in the navigation; nil for a page that is not there.
    fileprivate var section: Section? {
        switch self {
        case .overview: .overview
        case .difference, .item, .looked, .planned, .timeline, .user, .users: .users
        case .audience, .event, .log: .log
        case .tree: .tree
        case .confirm, .findings, .operations, .run: .operations
        case .damage, .failed, .filter, .finding, .foot, .head, .hold, .itemFilter, .logRow, .noRows, .problem, .rows,
            .search,
            .signIn, .userHead:
            nil
        }
    }

    fileprivate enum Section: String {
        case overview, users, log, tree, operations
    }

    /// Its name in the library.
    ///
    /// - Parameter isRest: whether the part below the mark is meant.
    fileprivate func name(isRest: Bool) -> String { isRest ? "\(rawValue)-rest" : rawValue }

    var source: [UInt8] {
        switch self {
        case .audience: PackageResources.audience_mustache
        case .confirm: PackageResources.confirm_mustache
        case .damage: PackageResources.damage_mustache
        case .difference: PackageResources.difference_mustache
        case .event: PackageResources.event_mustache
        case .failed: PackageResources.failed_mustache
        case .filter: PackageResources.filter_mustache
        case .finding: PackageResources.finding_mustache
        case .findings: PackageResources.findings_mustache
        case .foot: PackageResources.foot_mustache
        case .head: PackageResources.head_mustache
        case .hold: PackageResources.hold_mustache
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

/// What a template shows.
///
/// Each name in the template is a member of its page, of the ``Frame``, or of a struct whose section is around it: a test compares
/// them. Members are texts, `Bool`, `Seq`, `Timestamp` (with `iso` and `text`), structs of such members, and optionals and
/// arrays of all these.
protocol PageContent {
    /// What the part below the template's mark shows; `Never` for a template without one.
    associatedtype Rest = Never
    static var template: PageTemplate { get }
}

/// What every page shows around its own.
struct Frame {
    struct Navigation {
        let isOverview, isUsers, isLog, isTree, isOperations: Bool
    }

    struct Partition {
        let index, address: String
        let isShown: Bool
    }

    struct Session {
        let key, keyID, form, role, searches: String
        let mayUsers, mayAudit, mayAdmin: Bool
    }

    /// A check that found something, which every page names until a clean one.
    struct Failure {
        let name, count: String
        let time: Timestamp?
    }

    /// What only paper shows.
    struct Paper {
        let store, size, root: String
        let now: Timestamp
    }

    let pageTitle, assets, template, site: String
    /// What the search box has.
    let typed: String
    let seesTrays, seesLog, isDivided: Bool
    let navigation: Navigation
    let partitions: [Partition]
    /// Nil, as ``failures`` are empty, for who is not signed in.
    let session: Session?
    let failures: [Failure]
    let paper: Paper?
}

/// A name, and how addresses have it.
struct Name {
    let name, path: String

    init(_ name: String) { self.init(name, shown: name) }

    /// - Parameter shown: other words for it.
    init(_ name: String, shown: String) { (self.name, path) = (shown, PercentEncoding.encode(name)) }
}

/// One of several that a form or a row of links offers.
struct Choice {
    let value, title: String
    let isChosen: Bool
}

/// A page that says what went wrong.
struct ProblemPage: PageContent {
    static let template = PageTemplate.problem
    let status, detail, advice: String
    let signedOut, isDamaged: Bool
}

/// What stands below a page's top where its rest could not be made.
struct FailedPage: PageContent {
    static let template = PageTemplate.failed
    let detail, advice: String
    let isDamaged: Bool
}

extension Visit {
    /// A page of HTML.
    func page<P: PageContent>(_ title: String, _ page: P, _ status: HTTPResponse.Status = .ok) -> Response
    where P.Rest == Never {
        Response(
            status: status, headers: Self.pageHeaders,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: html(P.template, title, page))))
    }

    private static var pageHeaders: HTTPFields {
        [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"]
    }

    /// A page whose top is sent, and shown, while the rest is still made.
    ///
    /// All that can be wrong with the request was checked before.
    func page<P: PageContent>(
        _ title: String, _ top: P, _ status: HTTPResponse.Status = .ok,
        rest: @escaping @Sendable () async throws -> P.Rest
    ) -> Response {
        let top = html(P.template, title, top)
        let body = ResponseBody { writer in
            try await writer.write(ByteBuffer(bytes: top))
            let bytes = await withTaskExecutorPreference(globalConcurrentExecutor) {
                do {
                    return try await html(P.template, isRest: true, title, rest())
                } catch {
                    let problem = problem(error)
                    log(error, problem.status)
                    let page = FailedPage(
                        detail: problem.detail, advice: Self.advice(problem), isDamaged: problem.isDamaged)
                    return html(FailedPage.template, title, page)
                }
            }
            try await writer.write(ByteBuffer(bytes: bytes))
            try await writer.finish(nil)
        }
        return Response(status: status, headers: Self.pageHeaders, body: body)
    }

    /// Does what a page can be shown without; answers what is damaged, where that is why it cannot be done.
    func trouble(_ body: () async throws -> Void) async throws -> Trouble? {
        do {
            try await body()
            return nil
        } catch {
            guard case TraylogError.failed(let failure) = error, failure.code == .damaged else { throw error }
            log(error, .internalServerError)
            return Trouble(words: problem(error).detail, event: failure.event)
        }
    }

    /// What is damaged, so that a part of a page cannot be shown.
    struct Trouble: Hashable {
        let words: String
        /// The damaged event; nil where it is no event.
        let event: Seq?

        /// With links to the events that the words name.
        var finding: Finding { Finding(words) }
    }

    /// Writes what the server failed at to its log; what the request got wrong is not for it.
    func log(_ error: any Error, _ status: HTTPResponse.Status) {
        guard !(error is Problem), status.code >= 500 else { return }
        service.log.write([("console", .string(pageName)), ("error", .string("\(error)"))])
    }

    private func html(_ template: PageTemplate, isRest: Bool = false, _ title: String, _ page: Any) -> [UInt8] {
        console.pages.render(template, isRest: isRest, page, in: frame(template, title))
    }

    private func frame(_ template: PageTemplate, _ title: String) -> Frame {
        let section = template.section
        let path = section.map { $0 == .overview ? "" : "/\($0.rawValue)" } ?? ""
        return Frame(
            pageTitle: title, assets: "\(prefix)\(Console.root)/assets/\(console.pages.version)",
            template: template.rawValue, site: prefix + site, typed: (query["q"] ?? "").trimmingSpaces,
            seesTrays: may(.users), seesLog: may(.audit), isDivided: console.partitions != nil,
            navigation: Frame.Navigation(
                isOverview: section == .overview, isUsers: section == .users, isLog: section == .log,
                isTree: section == .tree, isOperations: section == .operations),
            partitions: (console.partitions?.services.indices ?? 0..<0).map {
                Frame.Partition(index: "\($0)", address: prefix + console.site($0) + path, isShown: $0 == partition)
            },
            session: session.map {
                Frame.Session(
                    key: $0.key.name ?? $0.keyID, keyID: $0.keyID, form: $0.formToken(), role: role, searches: searches,
                    mayUsers: may(.users), mayAudit: may(.audit), mayAdmin: may(.admin))
            },
            failures: (session == nil ? [] : store.upkeepRecord.failures).map {
                Frame.Failure(name: $0.check.title, count: Figures.count($0.count, "problem"), time: $0.time)
            },
            paper: session.map { _ in
                Frame.Paper(
                    store: service.storeIdentity, size: treeHead.map { Figures.count($0.size) } ?? "unknown",
                    root: treeHead?.root.hex ?? "unknown", now: .now)
            })
    }

    private var searches: String {
        let names = [(KeyScope.users, "users"), (.audit, "events, keys and words")]
        return names.filter { may($0.0) }.map(\.1).joined(separator: ", ")
    }

    private var role: String {
        let names = [(KeyScope.admin, "operator"), (.audit, "auditor"), (.users, "viewer")]
        return names.filter { may($0.0) }.map(\.1).joined(separator: ", ")
    }

    /// The problem of an error; whoever may read the log is told which event or page is damaged.
    func problem(_ error: any Error) -> Problem {
        service.noteDamage(error)
        if case TraylogError.failed(var failure) = error, may(.audit) {
            failure.message = service.withoutPath(failure.message)
            return Problem(failure, tellsAll: failure.code == .damaged)
        }
        return Problem(error)
    }

    /// The page that says what went wrong, and what to do; for scripts as JSON.
    func failure(_ problem: Problem) -> Response {
        guard accept.contains("text/html") else { return problem.response }
        let content = ProblemPage(
            status: "\(problem.status.code)", detail: problem.detail, advice: Self.advice(problem),
            signedOut: session == nil, isDamaged: problem.isDamaged)
        var response = page(problem.title, content, problem.status)
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
        case 507: "Make room for the store, then repeat what you did."
        case 500... where problem.isDamaged: "The rest of the store can still be read."
        case 500...: "The server's log says more, at this time. If it stays, run traylog verify on the store."
        default: "Go back and correct the field named above."
        }
    }
}
