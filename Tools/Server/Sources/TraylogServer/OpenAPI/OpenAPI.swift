/// The description of the API (OpenAPI 3.1), made from the routes themselves.
///
/// The tests hold each answer that they get against it: its status, its content type, and its headers.
enum OpenAPI {
    /// The description of a server with these routes and so many partitions.
    static func document(_ groups: [RouteGroup], partitions: Int) -> [UInt8] { make(groups, partitions).bytes }

    private static func make(_ groups: [RouteGroup], _ partitions: Int) -> JSONValue {
        var paths: [(name: String, value: JSONValue)] = []
        func add(_ name: String, _ method: String, _ operation: JSONValue) {
            let index =
                paths.firstIndex { $0.name == name }
                ?? {
                    paths.append((name, .object([])))
                    return paths.count - 1
                }()
            guard case .object(let members) = paths[index].value else { return }
            paths[index].value = .object(members + [(method, operation)])
        }
        for group in groups {
            for route in group.routes {
                let method = route.method.rawValue.lowercased()
                add(route.path.text, method, operation(route, group, partitions))
                if route.manner == .feed {
                    add(route.path.text, "head", operation(route, group, partitions, isHead: true))
                }
            }
        }
        return [
            "openapi": "3.1.0",
            "info": ["title": "Traylog", "version": "1", "description": "Trays of notifications, with their history."],
            "tags": .array(groups.map { ["name": .string($0.name), "description": .string($0.summary)] }),
            "paths": .object(paths),
            "components": [
                "securitySchemes": [
                    "bearer": [
                        "type": "http", "scheme": "bearer",
                        "description": "A server key (tlk_…), or a user's token (JWT).",
                    ],
                    "node": [
                        "type": "apiKey", "in": "header", "name": "Authorization",
                        "description": "A node of the same cluster, by the keys file that they share.",
                    ],
                ],
                // It goes with every GET. No operation names it: a value beyond the head rightly answers 503, which fuzzers would
                // report as a fault.
                "parameters": [
                    "MinSeq": [
                        "name": "Traylog-Min-Seq", "in": "header", "required": false,
                        "schema": OpenAPISchemas.minSeq(ofSeveral: partitions > 1),
                        "description": "With every GET: waits up to 5 seconds for this event, then 503.",
                    ]
                ],
                "schemas": .object(Schema.own + groups.flatMap { $0.schemas.map(Schema.all) ?? [] }),
                "headers": .object(
                    OpenAPISchemas.headers + OpenAPISchemas.originHeaders
                        + (partitions > 1 ? [OpenAPISchemas.partitionHeader] : [])),
            ],
        ]
    }

    private static func operation(
        _ route: Route, _ group: RouteGroup, _ partitions: Int, isHead: Bool = false
    ) -> JSONValue {
        let partition =
            partitions > 1
            ? route.partition.isNameRequired.map { [partitionParameter(partitions, isRequired: $0)] } : nil
        let parameters =
            route.path.variables.map { parameter($0, in: "path", isRequired: true, of: route, group) }
            + (isHead ? [] : route.query.map { parameter($0, in: "query", isRequired: false, of: route, group) })
            + requestHeaders(route).map { parameter($0, in: "header", isRequired: false, of: route, group) }
            + (partition ?? [])
        var members: [(name: String, value: JSONValue)] = [
            ("operationId", .string(identifier(route, isHead: isHead))), ("tags", [.string(group.name)]),
            ("summary", .string(route.summary)),
            ("description", .string(route.access.words)), ("parameters", .array(parameters)),
        ]
        if let body = body(route, group) { members.append(("requestBody", body)) }
        let isForNodes = route.access.isForNodes && route.access.key == nil
        members.append(("security", isForNodes ? [["node": []]] : route.access.isOpen ? [] : [["bearer": []]]))
        members.append(("responses", .object(responses(route, partitions, isHead: isHead))))
        return .object(members)
    }

    private static func identifier(_ route: Route, isHead: Bool) -> String {
        isHead ? "head" + route.name.prefix(1).uppercased() + route.name.dropFirst() : route.name
    }

    private static func parameter(
        _ name: String, in place: String, isRequired: Bool, of route: Route, _ group: RouteGroup
    ) -> JSONValue {
        [
            "name": .string(name), "in": .string(place), "required": .bool(isRequired),
            "schema": place == "query" && Route.lists.contains(name)
                ? [
                    "type": "array", "maxItems": .int(Route.mostValues),
                    "items": OpenAPISchemas.schema(of: name, in: route, group.fields),
                ]
                : OpenAPISchemas.schema(of: name, in: route, group.fields),
        ]
    }

    private static func partitionParameter(_ count: Int, isRequired: Bool) -> JSONValue {
        [
            "name": .string(Call.partition), "in": "query", "required": .bool(isRequired),
            "schema": ["type": "integer", "minimum": 0, "maximum": .int(count - 1)],
            "description": .string(
                isRequired
                    ? "Whose log: each partition has its own." : "Only this partition; else all it concerns."
            ),
        ]
    }

    private static func requestHeaders(_ route: Route) -> [String] {
        let own =
            switch route.manner {
            case .command: route.access.isOpen ? [] : ["Idempotency-Key", "Traylog-Device"]
            case .conditional, .file: ["If-None-Match"]
            case .feed: ["If-None-Match", "Prefer"]
            case .plain: [String]()
            }
        return own + (route.shows == .nobody ? [] : ["Traylog-Purpose"])
    }

    private static func body(_ route: Route, _ group: RouteGroup) -> JSONValue? {
        func object(_ names: [String], isRequired: Bool) -> JSONValue {
            let properties = names.map { ($0, OpenAPISchemas.schema(of: $0, in: route, group.members)) }
            let schema: JSONValue = .present([
                ("type", "object"), ("properties", .object(properties)), ("additionalProperties", false),
                ("required", route.required.isEmpty ? nil : .array(route.required.map { .string($0) })),
            ])
            return ["required": .bool(isRequired), "content": ["application/json": ["schema": schema]]]
        }
        switch route.body {
        case .none: return nil
        case .object(let names): return object(names, isRequired: true)
        case .fields(let names): return object(names, isRequired: !route.required.isEmpty)
        case .commands:
            let commands: JSONValue = [
                "type": "array", "items": Schema.command.reference, "maxItems": .int(Service.mostCommands),
            ]
            let lines: JSONValue = ["schema": OpenAPISchemas.lines(of: .command)]
            let content: JSONValue = ["application/json": ["schema": commands], "application/x-ndjson": lines]
            return ["required": true, "content": content]
        }
    }

    private static func responses(_ route: Route, _ partitions: Int, isHead: Bool) -> [(name: String, value: JSONValue)]
    {
        var content: [(name: String, value: JSONValue)] = []
        if !isHead, let type = route.answers.mediaType {
            content.append((type, ["schema": OpenAPISchemas.schema(of: route.answers)]))
            if route.manner == .feed {
                content.append(("text/event-stream", ["schema": OpenAPISchemas.serverSentEvent(ofFeed: true)]))
            }
            if case .jsonOrLines(_, let line) = route.answers {
                content.append((CommandRoutes.lines, ["schema": OpenAPISchemas.lines(of: line)]))
            }
            if case .jsonOrText(_, let type) = route.answers { content.append((type, ["schema": ["type": "string"]])) }
            if route.body.isOfCommands {
                content.append((CommandRoutes.lines, ["schema": OpenAPISchemas.lines(of: .commandLineResult)]))
            }
        }
        let answer: JSONValue = .present([
            ("description", .string(route.summary)), ("headers", headers(route, partitions, route.answerHeaders)),
            ("content", content.isEmpty ? nil : .object(content)),
        ])
        var statuses = [(name: String(route.status), value: answer)]
        if route.status == 201, route.manner == .command { statuses.append(("200", answer)) }
        func bare(_ code: String, _ text: String) -> (name: String, value: JSONValue) {
            (code, ["description": .string(text), "headers": headers(route, partitions, route.answerHeaders)])
        }
        if route.manner == .feed, !isHead { statuses.append(bare("204", "Nothing came for 25 seconds")) }
        if [.feed, .conditional, .file].contains(route.manner) { statuses.append(bare("304", "Not modified")) }
        for code in route.failures {
            let content: JSONValue = ["application/problem+json": ["schema": Schema.problem.reference]]
            let own = OpenAPISchemas.headers(ofStatus: code)
            statuses.append(
                (
                    String(code),
                    .present([
                        ("description", "A problem (RFC 9457)"), ("headers", headers(route, partitions, own)),
                        ("content", isHead ? nil : content),
                    ])
                ))
        }
        return statuses
    }

    private static func headers(_ route: Route, _ partitions: Int, _ names: [String]) -> JSONValue {
        let isOfOne = partitions > 1 && (route.path.variables.contains("u") || route.partition.isNameRequired != nil)
        let usual =
            (isOfOne ? [OpenAPISchemas.partitionHeader.name] : []) + [
                "Cache-Control", "X-Content-Type-Options", "X-Request-Id",
            ]
            + (route.access.isFree ? [] : ["RateLimit", "RateLimit-Policy"])
            + (route.origins == .allowed ? OpenAPISchemas.originHeaders.map(\.name) : [])
        return .object((names + usual).map { ($0, ["$ref": .string("#/components/headers/\($0)")]) })
    }
}

extension Access {
    /// Who may use the route, in words.
    fileprivate var words: String {
        if isOpen { return "No credentials." }
        if any { return "Any server key, any user's token." }
        if isForNodes, key == nil { return "Only other nodes of the cluster." }
        let parts = [
            key.map { "a server key with the scope \($0.rawValue)" },
            user.map { isAnyUser ? "a token with the scope \($0.rawValue)" : "the user's token with \($0.rawValue)" },
        ]
        return "Needs " + parts.compactMap(\.self).joined(separator: ", or ") + "."
    }
}

extension Route {
    fileprivate var answerHeaders: [String] {
        switch manner {
        case .command:
            // Lines have no head that could say what comes later.
            ["Traylog-Seq", "Idempotency-Replayed"] + (status == 201 ? ["Location"] : [])
                + (body.isOfCommands ? ["X-Accel-Buffering"] : [])
        case .conditional: ["ETag", "X-Poll-Interval"]
        case .file: ["ETag", "Cross-Origin-Resource-Policy", "Access-Control-Allow-Origin"]
        case .feed:
            [
                "Stream-Next-Offset", "Stream-Up-To-Date", "Stream-Cursor", "ETag", "Traylog-Tree-Head",
                "X-Accel-Buffering",
            ]
        case .plain:
            headers + (status == 202 ? ["Location"] : [])
                + (isLive ? ["X-Accel-Buffering"] : [])
        }
    }

    /// The statuses of problems.
    fileprivate var failures: [Int] {
        if access.isFree { return [400] + (manner == .file ? [404] : []) + [503] }
        var all = [400, 429] + refusals
        if !access.isOpen { all += [401, 403, 414, 431, 500, 503] }
        if method != .get { all += [408, 413, 415, 507] }
        return all.sorted()
    }
}
