@_spi(Replication) import Traylog

/// The values of fields, parameters and headers in the description of the API.
///
/// A name has one meaning everywhere, but in groups of routes that say otherwise.
package enum OpenAPISchemas {
    /// - Parameter own: what the route's group means by some names.
    static func schema(of name: String, in route: Route, _ own: [String: JSONValue]) -> JSONValue {
        if route.isLive, name == "with" { return choice(["items"]) }
        // What a command keeps is a seq; a query takes a time as well.
        if route.manner == .command, name == "asOf" { return seq }
        guard let schema = own[name] ?? fields[name] else {
            preconditionFailure("The description does not know what \(name) of \(route.path.text) is.")
        }
        return schema
    }

    static func schema(of answer: Route.Answer) -> JSONValue {
        switch answer {
        case .none: .object([])
        case .json(let schema), .jsonOrLines(let schema, _), .jsonOrText(let schema, _): schema.reference
        case .array(let schema): ["type": "array", "items": schema.reference]
        case .lines(let schema): lines(of: schema)
        case .events: serverSentEvent(ofFeed: false)
        case .text: ["type": "string"]
        }
    }

    /// The header `Traylog-Min-Seq`, on a server with one store or several.
    static func minSeq(ofSeveral: Bool) -> JSONValue {
        guard ofSeveral else { return seq }
        return [
            "type": "string", "pattern": "^([0-9]+|[0-9]+:[0-9]+(,[0-9]+:[0-9]+)*)$", "maxLength": 2048,
            "description": "A seq of the partition that answers, or PARTITION:SEQ with commas between.",
        ]
    }

    /// A JSON text a line: OpenAPI 3.1 has no word for a sequence, so this is the schema of each line.
    static func lines(of schema: Schema) -> JSONValue {
        ["type": "string", "contentMediaType": .string(CommandRoutes.lines), "contentSchema": schema.reference]
    }

    package static let identifier: JSONValue = [
        "type": "string", "minLength": 1, "maxLength": .int(Limits.identifierBytes),
        "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]+$", "description": "At most 256 bytes of UTF-8.",
    ]
    package static let seq: JSONValue = ["type": "integer", "minimum": 0]
    package static let time: JSONValue = ["type": "string", "format": "date-time", "maxLength": 64]
    package static let flag: JSONValue = ["type": "boolean"]
    private static let moment: JSONValue = [
        "type": "string", "pattern": "^[0-9]+$|^[0-9]{4}-[0-9]{2}-[0-9]{2}T", "maxLength": 64,
        "description": "A seq, or a time (RFC 3339).",
    ]

    package static func text(_ bytes: Int) -> JSONValue {
        ["type": "string", "maxLength": .int(bytes), "description": .string("At most \(bytes) bytes of UTF-8.")]
    }

    /// What the server gave out: a longer one, or one in other letters, would not fit into the head of a request.
    package static func ascii(_ bytes: Int) -> JSONValue {
        ["type": "string", "maxLength": .int(bytes), "pattern": "^[!-~]*$"]
    }

    package static func choice(_ names: [String]) -> JSONValue {
        ["type": "string", "enum": .array(names.map { .string($0) })]
    }

    private static let fields: [String: JSONValue] = {
        let scopes = TokenScope.allCases.map(\.rawValue).joined(separator: "|")
        var fields: [String: JSONValue] = [
            "title": text(1 << 10), "text": text(1 << 10), "body": text(16 << 10), "data": .object([]),
            "summaryCount": seq, "upTo": seq, "expectedRevision": seq,
            "event": ["type": "integer", "minimum": 1], "first": seq, "second": seq, "from": moment, "to": moment,
            "asOf": moment,
            "before": ["anyOf": [seq, ["type": "string", "format": "date-time", "maxLength": 64]]],
            "seq": ["type": "integer", "minimum": 0],
            "item": ["type": "string", "pattern": "^([0-9]{1,19}|key:.+)$"],
            "items": ["type": "array", "minItems": 1, "maxItems": .int(Limits.markedItems), "items": itemReference],
            "as": choice(Mark.allCases.map(\.rawValue)), "level": choice(InterruptionLevel.allCases.map(\.rawValue)),
            "view": choice(["inbox", "archived", "snoozed"]), "list": choice(Audience.Part.allCases.map(\.rawValue)),
            "live": choice(["long-poll", "sse"]),
            "limit": ["type": "integer", "minimum": 1, "maximum": .int(Limits.pageItems)],
            "ttl": ["type": "integer", "minimum": 1, "maximum": .int(UserTokens.longestLife)],
            "keepDays": [
                "type": "integer", "minimum": .int(AdminRoutes.keepDays.lowerBound),
                "maximum": .int(AdminRoutes.keepDays.upperBound),
            ],
            "thread": ["type": ["string", "null"], "maxLength": .int(Limits.identifierBytes)],
            "with": ["type": "string", "pattern": "^(tray|threads)(,(tray|threads))?$"],
            "dest": ["type": "string", "pattern": "^/", "maxLength": 4096],
            "treeHead": [
                "type": "object", "required": ["treeSize", "rootHash"],
                "properties": ["treeSize": seq, "rootHash": ["type": "string", "pattern": "^[0-9A-Fa-f]{64}$"]],
            ],
            "Idempotency-Key": ["type": "string", "pattern": "^[!#-~]{1,256}$"],
            "Traylog-Device": ["type": "string", "pattern": "^[!-~]{1,256}$"],
            "Traylog-Purpose": ["type": "string", "pattern": "^[!-~]([ -~]{0,254}[!-~])?$"],
            "If-None-Match": text(1 << 10), "Prefer": text(256), "cursor": ascii(2 << 10), "offset": ascii(512),
            "id": ["type": "string", "pattern": "^[0-9A-Za-z-]+$", "maxLength": 64],
            "token": [
                "type": "string", "minLength": 1, "maxLength": .int(Device.longestToken),
                "pattern": "^[^\\u0000-\\u0020\\u007f]+$",
            ],
            "action": [
                "type": "string", "minLength": 1, "maxLength": .int(Limits.actionIDBytes),
                "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]+$",
            ],
            "note": ["type": "string", "maxLength": .int(Limits.noteBytes)],
            "actions": [
                "type": "array", "minItems": 1, "maxItems": .int(Limits.actions),
                "items": ["$ref": "#/components/schemas/ItemAction"],
            ],
            "prefix": ["type": "string", "maxLength": .int(Limits.identifierBytes)],
            "kind": [
                "type": "string", "maxLength": 512, "pattern": "^[a-zA-Z]+(,[a-zA-Z]+)*$",
                "description": "Kinds of events, with commas between.",
            ],
            "archive": ["type": "string", "minLength": 1, "maxLength": 4096],
            "scope": ["type": "string", "pattern": .string("^(\(scopes))( (\(scopes)))*$")],
        ]
        for name in [
            "u", "t", "topic", "user", "key", "actor", "device", "category", "collapseKey", "summaryArgument", "name",
            "confirm", "purpose",
        ] {
            fields[name] = identifier
        }
        for name in ["occurredAt", "expiresAt", "remindAt", "notBefore", "since", "until", "now"] {
            fields[name] = time
        }
        for name in [
            "silent", "atomic", "unread", "unseen", "awaiting", "unthreaded", "includeSilent", "archived", "snoozed",
            "dryRun", "evenIfLarger",
            "rebuild", "hourly", "witnessed",
        ] {
            fields[name] = flag
        }
        return fields
    }()

    private static let itemReference: JSONValue = [
        "description": "A seq, or an item's key.",
        "oneOf": [seq, ["type": "string", "minLength": 1, "maxLength": .int(Limits.identifierBytes)]],
    ]

    static let partitionHeader = (
        name: "Traylog-Partition",
        value: ["description": "Which partition answered; none where several did.", "schema": ["type": "string"]]
            as JSONValue
    )

    package static let headers: [(name: String, value: JSONValue)] = [
        ("Traylog-Seq", "The seq of what was stored, or the head."),
        ("Idempotency-Replayed", "`true` when the command had been stored before."),
        ("Location", "Where the item, or the run, is."), ("ETag", "Changes with each event that `changes` would show."),
        ("Cache-Control", "How long the answer may be kept."),
        ("X-Poll-Interval", "Seconds to wait before asking again."),
        ("Stream-Next-Offset", "Where to go on."), ("Stream-Up-To-Date", "`true` when the answer reaches the head."),
        ("Stream-Cursor", "To be sent with the next live request."),
        ("Traylog-Tree-Head", "SIZE:ROOT of the log, when asked for."),
        ("X-Content-Type-Options", "`nosniff`."), ("X-Request-Id", "The request, as logs name it."),
        ("RateLimit", "What is left."), ("RateLimit-Policy", "The limit."), ("Retry-After", "Seconds to wait."),
        ("WWW-Authenticate", "Which credentials there must be."), ("Allow", "The methods that the path has."),
        ("X-Accel-Buffering", "`no` with a stream: proxies are not to hold it back."),
    ].map(header)

    /// What answers to pages of other origins have, on a server that allows some.
    static let originHeaders: [(name: String, value: JSONValue)] = [
        ("Vary", "`Origin`, where the server allows other origins."),
        ("Access-Control-Allow-Origin", "The origin of the page, or `*`."),
        ("Access-Control-Expose-Headers", "The headers that a page of another origin may read."),
        ("Cross-Origin-Resource-Policy", "`cross-origin`: any page may load it."),
    ].map(header)

    private static func header(_ name: String, _ text: String) -> (name: String, value: JSONValue) {
        (name, ["description": .string(text), "schema": ["type": "string"]])
    }

    package static func headers(ofStatus code: Int) -> [String] {
        switch code {
        case 401, 403: ["WWW-Authenticate"]
        case 429, 503: ["Retry-After"]
        default: []
        }
    }

    /// One event of a stream, whatever its kind: OpenAPI 3.1 has no word for a sequence, so this is the schema of each.
    static func serverSentEvent(ofFeed isFeed: Bool) -> JSONValue {
        let own =
            isFeed
            ? [
                serverSentEvent("data", ["type": "array", "items": Schema.event.reference]),
                serverSentEvent("control", Schema.feedControl.reference),
            ]
            : [
                serverSentEvent("tray", Schema.tray.reference, isNumbered: true),
                serverSentEvent("items", ["oneOf": [Schema.changedItems.reference, Schema.reload.reference]]),
            ]
        let last = [
            serverSentEvent(
                "end",
                [
                    "type": "object", "required": ["reason"], "additionalProperties": false,
                    "properties": ["reason": choice(EndReason.allCases.map(\.rawValue))],
                ]),
            serverSentEvent("error", Schema.problem.reference),
        ]
        return ["oneOf": .array(own + last)]
    }

    private static func serverSentEvent(_ name: String, _ content: JSONValue, isNumbered: Bool = false) -> JSONValue {
        let data: JSONValue = ["type": "string", "contentMediaType": "application/json", "contentSchema": content]
        return .present([
            ("type", "object"), ("required", isNumbered ? ["event", "data", "id"] : ["event", "data"]),
            (
                "properties",
                .present([
                    ("event", ["type": "string", "enum": [.string(name)]]), ("data", data),
                    ("id", isNumbered ? ["type": "string", "pattern": "^[0-9]+$"] : nil),
                ])
            ),
        ])
    }
}
