import HTTPTypes
import Hummingbird

/// One route: what it is called with, who may, and what it does.
///
/// The router and `openapi.json` both come from these.
final class Route: Sendable {
    enum Body: Sendable {
        case none
        /// A JSON object with these members.
        case object([String])
        /// The same, and it may be left out.
        case fields([String])
        /// A JSON array of commands, or lines of them.
        case commands

        var isTaken: Bool { if case .none = self { false } else { true } }
    }

    /// Which headers and statuses go with the answer.
    enum Manner: Sendable {
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
    enum Origins: Sendable {
        /// Those of no other origin.
        case own
        /// Those of the origins that the operator allowed.
        case allowed
        /// All.
        case any
    }

    let method: HTTPRequest.Method
    let path: PathTemplate
    let summary: String
    let access: Access
    let query: [String]
    let body: Body
    /// The members that a body must have.
    let required: [String]
    let manner: Manner
    let origins: Origins
    let status: Int
    /// The content type of the answer; nil for none.
    let answers: String?
    let handler: nonisolated(nonsending) @Sendable (Call) async throws -> Response

    /// Whether little is computed for it: it shows a page of a tray, or stores one command.
    var isShort: Bool {
        switch (body, manner) {
        case (.commands, _): false
        case (_, .conditional), (_, .command): true
        default: false
        }
    }

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
        if answers == "text/event-stream" { names.append("Last-Event-ID") }
        return names
    }

    init(
        _ method: HTTPRequest.Method, _ path: String, _ summary: String, _ access: Access, query: [String] = [],
        body: Body = .none, required: [String] = [], manner: Manner = .plain, origins: Origins = .allowed,
        status: Int = 200,
        answers: String? = "application/json",
        _ handler: nonisolated(nonsending) @escaping @Sendable (Call) async throws -> Response
    ) {
        self.method = method
        self.path = PathTemplate(path)
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
        self.status = status
        self.answers = answers
        self.handler = handler
    }
}

/// All routes, found by method and path.
struct RouteTable: Sendable {
    let routes: [Route]
    /// By the number of segments, and then by path, the one with more that is fixed first.
    private let paths: [Int: [(template: PathTemplate, routes: [Route])]]

    init(_ routes: [Route]) {
        self.routes = routes
        let paths = Dictionary(grouping: routes) { $0.path.text }.values.map { (template: $0[0].path, routes: $0) }
        self.paths = Dictionary(grouping: paths) { $0.template.segmentCount }
            .mapValues { $0.sorted { $0.template.weight > $1.template.weight } }
    }

    /// - Throws: ``Problem`` 400 for bad encoding, 404, 405 with `Allow`.
    func find(_ method: HTTPRequest.Method, path: Substring) throws(Problem) -> (route: Route, values: [String: String])
    {
        let segments = try Self.segments(path)
        // Of a path that is fixed, variables of another template are no alternative.
        guard let found = paths[segments.count]?.first(where: { $0.template.matches(segments) }) else {
            throw Problem(.notFound, "Not found", "there is no such path")
        }
        let isHead = method == .head
        if let route = found.routes.first(where: { $0.method == method })
            ?? found.routes.first(where: { isHead && $0.method == .get })
        {
            return (route, found.template.values(segments))
        }
        var problem = Problem(.methodNotAllowed, "Method not allowed", "\(method) is not what this path takes")
        var allowed = found.routes.map(\.method.rawValue)
        if allowed.contains("GET"), !allowed.contains("HEAD") { allowed.append("HEAD") }
        problem.headers[.allow] = allowed.joined(separator: ", ")
        throw problem
    }

    /// All routes of a path, whatever their method; none where it is unknown.
    func routes(at path: Substring) -> [Route] {
        guard let segments = try? Self.segments(path) else { return [] }
        return paths[segments.count]?.first { $0.template.matches(segments) }?.routes ?? []
    }

    /// The pages that may see what became of a request for a path, known or not.
    ///
    /// A path that is unknown goes with the routes that share most of its beginning.
    func origins(of path: Substring) -> Route.Origins {
        if let route = routes(at: path).first { return route.origins }
        guard var segments = try? Self.segments(path) else { return .own }
        while !segments.isEmpty {
            let near = routes.filter { $0.path.begins(with: segments) }
            if !near.isEmpty { return near.contains { $0.origins == .allowed } ? .allowed : .own }
            segments.removeLast()
        }
        return .own
    }

    private static func segments(_ path: Substring) throws(Problem) -> [String] {
        var segments: [String] = []
        for part in path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst() {
            guard let segment = PercentEncoding.decode(Substring(part)) else {
                throw Problem(.badRequest, "Bad path", "the path is not percent-encoded UTF-8", error: "invalid")
            }
            segments.append(segment)
        }
        return segments
    }
}

extension Route {
    /// Fields that may be given several times.
    static let lists: Set<String> = ["category"]

    /// The fields of a query; of one that was given several times, a value a line.
    ///
    /// - Parameter also: one that every route takes here.
    /// - Throws: ``Problem`` 400 for one that the route does not have, one given twice, or bad encoding.
    func parse(query text: Substring?, also: String? = nil) throws(Problem) -> [String: String] {
        var fields: [String: String] = [:]
        guard let text, !text.isEmpty else { return fields }
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
            if Self.lists.contains(name), let before = fields[name] {
                // Names have no control characters, so that the lines are unambiguous.
                guard !value.contains("\n") else { throw .invalid(name, "must have no control characters") }
                fields[name] = "\(before)\n\(value)"
                continue
            }
            guard fields.updateValue(value, forKey: name) == nil else { throw .invalid(name, "is given twice") }
        }
        return fields
    }
}
