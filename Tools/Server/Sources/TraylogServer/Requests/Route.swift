import HTTPTypes
import Hummingbird
@_spi(Operations) import Traylog
@_spi(JSON) import TraylogJSON

/// One route: how it is called, who may call it, which partition and node answer, and what it does.
///
/// Everything that is known of a route stands here: the router, `openapi.json`, the checks of origins and credentials, partitions
/// and clusters all read it. Only the prefix of pages and the partition are compared elsewhere.
package final class Route: Sendable {
    package enum Body: Sendable {
        case none
        /// A JSON object with these members.
        case object([String])
        /// The same, and it may be left out.
        case fields([String])
        /// A JSON array of commands, or lines of them.
        case commands

        var isOfCommands: Bool { if case .commands = self { true } else { false } }
        var isTaken: Bool { if case .none = self { false } else { true } }
    }

    /// Which headers and statuses go with the answer.
    package enum Manner: Sendable {
        case plain
        /// It takes the common fields of commands, and says the seq of what it stored.
        case command
        /// It has an entity tag, and answers 304.
        case conditional
        /// It is read from an offset on, and live.
        case feed
        /// It is one of the program's own files, with an entity tag.
        case file
    }

    /// The pages that may call it.
    package enum Origins: Sendable {
        /// Those of no other origin.
        case own
        /// Those of the origins that the operator allowed.
        case allowed
        /// All.
        case any
    }

    /// Which of several partitions answers.
    package enum Partitioning: Sendable {
        /// That of the user in the path.
        case user
        /// The one that the query must name: the route is about one log.
        case named
        /// Any: all answer the same.
        case any
        /// All, put together; only the one that the query names, if it does.
        case all(@Sendable (Partitions, Call) async throws -> Response)
        /// Those that the request concerns, given the one that the query names.
        case split(isNameable: Bool, @Sendable (Partitions, Call, Int?) async throws -> Response)

        /// Whether the query must name one, or may; nil where it would change nothing.
        var isNameRequired: Bool? {
            switch self {
            case .user, .any, .split(isNameable: false, _): nil
            case .named: true
            case .all, .split(isNameable: true, _): false
            }
        }
    }

    /// Whose content it shows, so that reading it with a server key can be recorded (``AccessLog``).
    package enum Content: Sendable {
        /// Nobody's: figures, names, proofs, the program's own files.
        case nobody
        /// What is stored about the user in the path.
        case user
        /// What is stored about the persons in its answer: the route records each of them itself (``Reader``).
        case persons
    }

    /// Which nodes of a cluster perform it.
    package enum Node: Sendable {
        /// The one that owns the log, because it appends events; the others send the request on.
        case owner
        /// Each for itself.
        case each
    }

    /// What it answers, if it does what was asked.
    package enum Answer: Sendable {
        case none
        case json(Schema)
        /// A JSON array.
        case array(Schema)
        /// A JSON object a line.
        case lines(Schema)
        /// A JSON object or, where the query asks for a list, a JSON object a line.
        case jsonOrLines(Schema, Schema)
        /// A JSON object, or text of a media type where the request accepts that one.
        case jsonOrText(Schema, String)
        /// Server-sent events.
        case events
        /// Anything else, of a media type.
        case text(String)

        /// Nil without a body.
        var mediaType: String? {
            switch self {
            case .none: nil
            case .json, .array, .jsonOrLines, .jsonOrText: "application/json"
            case .lines: CommandRoutes.lines
            case .events: "text/event-stream"
            case .text(let type): type
            }
        }
    }

    package let method: HTTPRequest.Method
    package let path: PathTemplate
    /// Its name in the description, and so in generated clients.
    package let name: String
    package let summary: String
    package let access: Access
    package let query: [String]
    package let body: Body
    /// The members that a body must have.
    let required: [String]
    let manner: Manner
    package let origins: Origins
    package let partition: Partitioning
    package let node: Node
    /// Whether a node whose log has diverged from the log of record answers it, too.
    let answersDiverged: Bool
    package let status: Int
    package let answers: Answer
    package let shows: Content
    /// Headers of its answer that ``manner`` and ``status`` do not bring along.
    package let headers: [String]
    /// Whether a key may call it that is limited to some names: the path says which names it concerns, the route itself looks at
    /// them, or it shows none.
    let takesLimitedKeys: Bool
    /// The statuses of its own problems; credentials, limits and transport add theirs.
    let refusals: [Int]
    /// How many bytes of a body it takes.
    package let longestBody: Int
    let handler: nonisolated(nonsending) @Sendable (Call) async throws -> Response

    /// Whether little is computed for it: it shows a page of a tray, or stores one command.
    var isShort: Bool {
        switch (body, manner) {
        case (.commands, _): false
        case (_, .conditional), (_, .command): true
        default: false
        }
    }

    /// A body without content, such as a mark of some items by their seqs.
    package static let shortBody = 64 << 10
    /// As long as a command's line may be: it has content, or many items by their keys.
    private static let commandBody = 1 << 20
    private static let commandsBody = 8 << 20

    /// How long a body may be, by what stands in it; lines of commands have no end.
    private static func longest(_ body: Body) -> Int {
        switch body {
        case .none: shortBody
        case .object(let names), .fields(let names):
            names.contains { ["data", "items", "payload"].contains($0) } ? commandBody : shortBody
        case .commands: commandsBody
        }
    }

    /// Whether it always answers with server-sent events.
    var isLive: Bool { if case .events = answers { true } else { false } }

    /// The headers that a request may have, beside its credentials.
    var requestHeaders: [String] {
        var names: [String] = []
        if method == .post || method == .patch || body.isTaken { names.append("Content-Type") }
        if manner == .command || method == .put || method == .delete {
            names += ["Idempotency-Key", "Traylog-Device"]
        }
        if manner == .conditional || manner == .feed || manner == .file { names.append("If-None-Match") }
        if manner == .feed { names.append("Prefer") }
        if method == .get { names.append("Traylog-Min-Seq") }
        if shows != .nobody { names.append("Traylog-Purpose") }
        if isLive { names.append("Last-Event-ID") }
        return names
    }

    /// - Parameters:
    ///   - name: in lower camel case; of no other route.
    ///   - partition: must be given unless a user in the path decides.
    ///   - node: by default ``Node/each`` for a GET, and ``Node/owner`` for anything else.
    ///   - answersDiverged: by default of operators' routes, and of those that need no credentials.
    ///   - takesLimitedKeys: by default of routes with a user or a topic in the path.
    ///   - shows: by default of the user in the path, where a GET has one.
    ///   - refusals: by default of items and events that are not there, are gone, or do not go with the command, and of
    ///     moments below the floor or beyond the head.
    ///   - longestBody: by default 64 KiB; 1 MiB for content and lists of items, and 8 MiB for an array of commands.
    package init(
        _ method: HTTPRequest.Method, _ path: String, as name: String, _ summary: String, _ access: Access,
        origins: Origins,
        query: [String] = [], body: Body = .none, required: [String] = [], manner: Manner = .plain,
        partition: Partitioning? = nil, node: Node? = nil, answersDiverged: Bool? = nil,
        takesLimitedKeys: Bool? = nil, shows: Content? = nil, status: Int = 200,
        answers: Answer, headers: [String] = [],
        refusals: [Int] = Refusal.Code.httpStatuses.filter { $0 != 400 }, longestBody: Int? = nil,
        _ handler: nonisolated(nonsending) @escaping @Sendable (Call) async throws -> Response
    ) {
        self.method = method
        self.path = PathTemplate(path)
        self.name = name
        self.summary = summary
        self.access = access
        self.query = query
        self.body = body
        self.required = required
        switch body {
        case .commands: self.manner = .command
        case .object(let names), .fields(let names): self.manner = names.contains("occurredAt") ? .command : manner
        case .none: self.manner = manner
        }
        self.origins = origins
        let isOfUser = self.path.variables.contains("u")
        precondition(isOfUser || partition != nil, "The route \(path) does not say which partition answers.")
        self.partition = partition ?? .user
        self.node = node ?? (method == .get ? .each : .owner)
        self.answersDiverged = answersDiverged ?? (access.isOpen || access.key == .admin || access.key == .metrics)
        self.takesLimitedKeys = takesLimitedKeys ?? (isOfUser || self.path.variables.contains("t"))
        self.status = status
        self.answers = answers
        self.shows = shows ?? (isOfUser && method == .get ? .user : .nobody)
        (self.headers, self.refusals) = (headers, refusals)
        self.longestBody = longestBody ?? Self.longest(body)
        self.handler = handler
    }
}

/// All routes, found by method and path.
package struct RouteTable: Sendable {
    package let routes: [Route]
    /// The groups' ``RouteGroup/unknown``.
    private let unknown: [(below: PathTemplate, problem: Problem)]
    /// By the number of segments, and then by path, the one with more that is fixed first.
    private let paths: [Int: [(template: PathTemplate, routes: [Route])]]

    package init(_ groups: [RouteGroup]) {
        (routes, unknown) = (groups.flatMap(\.routes), groups.flatMap(\.unknown))
        let paths = Dictionary(grouping: routes) { $0.path.text }.values.map { (template: $0[0].path, routes: $0) }
        self.paths = Dictionary(grouping: paths) { $0.template.segmentCount }
            .mapValues { $0.sorted { $0.template.weight > $1.template.weight } }
    }

    /// - Throws: ``Problem`` 400 for bad encoding, 404, 405 with `Allow`.
    package func find(_ method: HTTPRequest.Method, path: Substring) throws(Problem) -> (
        route: Route, values: [String: String]
    ) {
        let segments = try Self.segments(path)
        // A path that matches a fixed template is never tried against one with variables.
        guard let found = paths[segments.count]?.first(where: { $0.template.matches(segments) }) else {
            throw unknown.first { $0.below.isBeginning(of: segments) }?.problem
                ?? Problem(.notFound, "Not found", "there is no such path")
        }
        let isHead = method == .head
        if let route = found.routes.first(where: { $0.method == method })
            ?? found.routes.first(where: { isHead && $0.method == .get })
        {
            return (route, found.template.values(segments))
        }
        var methods = found.routes.map(\.method.rawValue)
        if methods.contains("GET"), !methods.contains("HEAD") { methods.append("HEAD") }
        let allowed = methods.joined(separator: ", ")
        var problem = Problem(
            .methodNotAllowed, "Method not allowed", "\(method) is not supported here; allowed: \(allowed)")
        problem.headers[.allow] = allowed
        throw problem
    }

    /// The templates of all paths, in the order of the routes.
    var templates: [String] {
        var seen: Set<String> = []
        return routes.map(\.path.text).filter { seen.insert($0).inserted }
    }

    /// All routes of a path, whatever their method; none where it is unknown.
    package func routes(at path: Substring) -> [Route] {
        guard let segments = try? Self.segments(path) else { return [] }
        return paths[segments.count]?.first { $0.template.matches(segments) }?.routes ?? []
    }

    /// The pages that may see what became of a request for a path, known or not.
    ///
    /// A path that is unknown goes with the routes that share most of its beginning.
    package func origins(of path: Substring) -> Route.Origins {
        if let route = routes(at: path).first { return route.origins }
        // One whose encoding is wrong begins somewhere, too.
        var segments = Array(Self.parts(path).prefix { $0 != nil }.compactMap(\.self).prefix(paths.keys.max() ?? 0))
        while !segments.isEmpty {
            let near = routes.filter { $0.path.begins(with: segments) }
            if near.contains(where: { $0.origins == .allowed }) { return .allowed }
            if let first = near.first { return first.origins }
            segments.removeLast()
        }
        return .own
    }

    private static func segments(_ path: Substring) throws(Problem) -> [String] {
        let parts = parts(path)
        let segments = parts.compactMap(\.self)
        guard segments.count == parts.count else {
            throw Problem(.badRequest, "Bad path", "the path is not percent-encoded UTF-8", error: "invalid")
        }
        return segments
    }

    /// The segments of a path; nil for one that is not percent-encoded UTF-8.
    private static func parts(_ path: Substring) -> [String?] {
        path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
            .map { PercentEncoding.decode(Substring($0)) }
    }
}

extension Route {
    /// Fields that may be given several times.
    static let lists: Set<String> = ["category"]
    /// How often, at most.
    static let mostValues = 8

    /// The fields of a query; of one that was given several times, a value a line.
    ///
    /// - Parameter also: one that every route takes here.
    /// - Throws: ``Problem`` 400 for one that the route does not have, one given twice, or bad encoding.
    package func parse(query text: Substring?, also: String? = nil) throws(Problem) -> [String: String] {
        var fields: [String: String] = [:]
        // A page may ask for a module with a query of its own, such as a version.
        guard manner != .file, let text, !text.isEmpty else { return fields }
        for pair in text.utf8.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map { Substring($0) }
            guard let name = PercentEncoding.decode(parts[0], plusIsSpace: true),
                let value = PercentEncoding.decode(parts.count > 1 ? parts[1] : "", plusIsSpace: true)
            else { throw Problem(.badRequest, "Bad query", "the query is not percent-encoded UTF-8", error: "invalid") }
            guard query.contains(name) || name == also else {
                throw .invalid(
                    String(name.prefix(64)),
                    "unknown query field; "
                        + (query.isEmpty ? "this path takes none" : "this path takes \(query.joined(separator: ", "))"))
            }
            // Names have no control characters, so that the lines are unambiguous.
            if Self.lists.contains(name), value.contains("\n") {
                throw .invalid(name, "must have no control characters")
            }
            if Self.lists.contains(name), let before = fields[name] {
                fields[name] = "\(before)\n\(value)"
                continue
            }
            guard fields.updateValue(value, forKey: name) == nil else { throw .invalid(name, "is given twice") }
        }
        return fields
    }
}
