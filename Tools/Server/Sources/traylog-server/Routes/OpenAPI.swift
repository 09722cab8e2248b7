/// The description of the API (OpenAPI 3.1), made from the routes themselves.
enum OpenAPI {
    static let document: [UInt8] = make().bytes

    private static func make() -> JSONValue {
        var paths: [(name: String, value: JSONValue)] = []
        for route in AllRoutes.table.routes {
            let name = route.path.text
            let operation = (name: route.method.rawValue.lowercased(), value: operation(route))
            if let index = paths.firstIndex(where: { $0.name == name }), case .object(let members) = paths[index].value
            {
                paths[index].value = .object(members + [operation])
            } else {
                paths.append((name, .object([operation])))
            }
        }
        return [
            "openapi": "3.1.0",
            "info": ["title": "Traylog", "version": "1", "description": "Trays of notifications, with their history."],
            "paths": .object(paths),
            "components": [
                "securitySchemes": ["bearer": ["type": "http", "scheme": "bearer"]],
                "schemas": ["Problem": problem],
            ],
        ]
    }

    private static func operation(_ route: Route) -> JSONValue {
        let parameters =
            route.path.variables.map { parameter($0, in: "path", isRequired: true) }
            + route.query.map { parameter($0, in: "query", isRequired: false) } + headers(route)
        var members: [(name: String, value: JSONValue)] = [
            ("operationId", .string(identifier(route))), ("summary", .string(route.summary)),
            ("parameters", .array(parameters)),
        ]
        if let body = body(route.body) { members.append(("requestBody", body)) }
        members.append(("security", route.access.isOpen ? [] : [["bearer": []]]))
        members.append(("responses", .object(responses(route))))
        return .object(members)
    }

    private static func identifier(_ route: Route) -> String {
        let words = route.path.text.split { !$0.isLetter }.map { $0.prefix(1).uppercased() + $0.dropFirst() }
        return route.method.rawValue.lowercased() + words.joined()
    }

    private static func parameter(_ name: String, in place: String, isRequired: Bool) -> JSONValue {
        ["name": .string(name), "in": .string(place), "required": .bool(isRequired), "schema": ["type": "string"]]
    }

    private static func headers(_ route: Route) -> [JSONValue] {
        switch route.method {
        case .get: route.access.isOpen ? [] : [parameter("Traylog-Min-Seq", in: "header", isRequired: false)]
        default:
            ["Idempotency-Key", "Traylog-Device"].map { parameter($0, in: "header", isRequired: false) }
        }
    }

    private static func body(_ body: Route.Body) -> JSONValue? {
        switch body {
        case .none: return nil
        case .object(let names), .fields(let names):
            let properties = JSONValue.object(names.map { ($0, .object([])) })
            let schema: JSONValue = ["type": "object", "properties": properties, "additionalProperties": false]
            return ["required": true, "content": ["application/json": ["schema": schema]]]
        case .commands:
            let commands: JSONValue = ["type": "array", "items": ["type": "object"]]
            let lines: JSONValue = ["schema": ["type": "string"]]
            let content: JSONValue = ["application/json": ["schema": commands], "application/x-ndjson": lines]
            return ["required": true, "content": content]
        }
    }

    private static func responses(_ route: Route) -> [(name: String, value: JSONValue)] {
        var answer: [(name: String, value: JSONValue)] = [("description", .string(route.summary))]
        if let type = route.answers {
            let schema: JSONValue = type == "application/json" ? .object([]) : ["type": "string"]
            let described: JSONValue = ["schema": schema]
            answer.append(("content", .object([(type, described)])))
        }
        var statuses = [(name: String(route.status), value: JSONValue.object(answer))]
        if route.status == 201 { statuses.append(("200", .object(answer))) }
        if route.method == .get, !route.access.isOpen {
            for (code, text) in [("204", "Nothing came"), ("304", "Not modified")] {
                statuses.append((code, ["description": .string(text)]))
            }
        }
        let failures =
            route.access.isOpen
            ? ["503"] : ["400", "401", "403", "404", "408", "410", "413", "415", "422", "429", "500", "503", "507"]
        for code in failures {
            let content: JSONValue = ["application/problem+json": ["schema": ["$ref": "#/components/schemas/Problem"]]]
            statuses.append((code, ["description": "A problem (RFC 9457)", "content": content]))
        }
        return statuses
    }

    private static var problem: JSONValue {
        [
            "type": "object", "required": ["type", "title", "status", "detail"],
            "properties": [
                "type": ["type": "string"], "title": ["type": "string"], "status": ["type": "integer"],
                "detail": ["type": "string"], "error": ["type": "string"], "field": ["type": "string"],
                "line": ["type": "integer"], "floor": ["type": "integer"], "offset": ["type": "string"],
            ],
        ]
    }
}
