import Traylog

/// The values of fields, parameters and headers in the description of the API.
///
/// A name has one meaning everywhere.
enum OpenAPISchemas {
    /// - Parameter isOfStream: what comes with a stream is not what comes with a page.
    static func schema(of name: String, isOfStream: Bool = false) -> JSONValue {
        if isOfStream, name == "with" { return choice(["items"]) }
        return fields[name] ?? ["type": "string"]
    }

    private static let identifier: JSONValue = [
        "type": "string", "minLength": 1, "maxLength": .int(Limits.identifierBytes),
        "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]+$", "description": "At most 256 bytes of UTF-8.",
    ]
    private static let seq: JSONValue = ["type": "integer", "minimum": 0]
    private static let time: JSONValue = ["type": "string", "format": "date-time"]
    private static let flag: JSONValue = ["type": "boolean"]
    private static let moment: JSONValue = [
        "type": "string", "pattern": "^[0-9]+$|^[0-9]{4}-[0-9]{2}-[0-9]{2}T",
        "description": "A seq, or a time (RFC 3339).",
    ]

    private static func text(_ bytes: Int) -> JSONValue {
        ["type": "string", "maxLength": .int(bytes), "description": .string("At most \(bytes) bytes of UTF-8.")]
    }

    private static func choice(_ names: [String]) -> JSONValue {
        ["type": "string", "enum": .array(names.map { .string($0) })]
    }

    private static let fields: [String: JSONValue] = {
        var fields: [String: JSONValue] = [
            "title": text(1 << 10), "body": text(16 << 10), "data": .object([]), "summaryCount": seq, "upTo": seq,
            "event": ["type": "integer", "minimum": 1], "first": seq, "second": seq, "from": moment, "to": moment,
            "asOf": moment, "before": .object([]), "seq": ["type": "integer", "minimum": 0],
            "item": ["type": "string", "pattern": "^([0-9]{1,19}|key:.+)$"],
            "items": ["type": "array", "minItems": 1, "maxItems": .int(Limits.markedItems), "items": .object([])],
            "as": choice(["seen", "read", "unread", "archived", "unarchived", "deleted", "restored"]),
            "level": choice(["passive", "active", "timeSensitive", "critical"]),
            "view": choice(["inbox", "archived", "snoozed"]), "live": choice(["long-poll", "sse"]),
            "limit": ["type": "integer", "minimum": 1, "maximum": .int(Limits.pageItems)],
            "ttl": ["type": "integer", "minimum": 1, "maximum": .int(UserTokens.longestLife)],
            "keepDays": ["type": "integer", "minimum": 0, "maximum": 36_500],
            "thread": ["type": ["string", "null"], "maxLength": .int(Limits.identifierBytes)],
            "with": ["type": "string", "pattern": "^(tray|threads)(,(tray|threads))?$"],
            "dest": ["type": "string", "pattern": "^/"],
            "treeHead": [
                "type": "object", "required": ["treeSize", "rootHash"],
                "properties": ["treeSize": seq, "rootHash": ["type": "string", "pattern": "^[0-9A-Fa-f]{64}$"]],
            ],
            "Idempotency-Key": ["type": "string", "pattern": "^[!#-~]{1,256}$"],
            "Traylog-Device": ["type": "string", "pattern": "^[!-~]{1,256}$"], "Traylog-Min-Seq": seq,
            "Traylog-Min-Seqs": [
                "type": "string", "pattern": "^([0-9]+|[0-9]+:[0-9]+(,[0-9]+:[0-9]+)*)$",
                "description": "A seq of the partition that answers, or PARTITION:SEQ with commas between.",
            ],
            "If-None-Match": ["type": "string"], "Prefer": ["type": "string"],
        ]
        for name in [
            "u", "t", "topic", "user", "key", "actor", "device", "category", "collapseKey", "summaryArgument", "name",
        ] {
            fields[name] = identifier
        }
        for name in ["occurredAt", "expiresAt", "until", "now"] { fields[name] = time }
        for name in ["silent", "atomic", "unread", "unseen", "unthreaded", "includeSilent", "dryRun", "rebuild"] {
            fields[name] = flag
        }
        return fields
    }()

    static let partitionHeader = (
        name: "Traylog-Partition",
        value: ["description": "Which partition answered; none where several did.", "schema": ["type": "string"]]
            as JSONValue
    )

    static let headers: [(name: String, value: JSONValue)] = [
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

    static func headers(ofStatus code: Int) -> [String] {
        switch code {
        case 401, 403: ["WWW-Authenticate"]
        case 429, 503: ["Retry-After"]
        default: []
        }
    }

    static let problem: JSONValue = [
        "type": "object", "required": ["type", "title", "status", "detail"],
        "properties": [
            "type": ["type": "string"], "title": ["type": "string"], "status": ["type": "integer"],
            "detail": ["type": "string"], "error": ["type": "string"], "field": ["type": "string"],
            "line": ["type": "integer"], "floor": ["type": "integer"], "offset": ["type": "string"],
            "code": ["type": "string"],
        ],
    ]

    /// One event of a stream, whatever its kind: OpenAPI 3.1 has no word for a sequence, so the schema is that of each.
    static func serverSentEvent(ofFeed isFeed: Bool) -> JSONValue {
        let control: JSONValue = [
            "type": "object", "required": ["streamNextOffset", "streamCursor"], "additionalProperties": false,
            "properties": [
                "streamNextOffset": ["type": "string"], "streamCursor": ["type": "string"], "upToDate": flag,
            ],
        ]
        let own =
            isFeed
            ? [
                serverSentEvent("data", ["type": "array", "items": ["type": "object"]]),
                serverSentEvent("control", control),
            ]
            : [
                serverSentEvent("tray", ["type": "object", "required": ["user", "asOf"]], isNumbered: true),
                serverSentEvent("items", ["oneOf": [changedItems, reload]]),
            ]
        let last = [
            serverSentEvent(
                "end",
                [
                    "type": "object", "required": ["reason"], "additionalProperties": false,
                    "properties": ["reason": choice(EndReason.allCases.map(\.rawValue))],
                ]),
            serverSentEvent("error", ["$ref": "#/components/schemas/Problem"]),
        ]
        return ["oneOf": .array(own + last)]
    }

    private static let changedItems: JSONValue = [
        "type": "object", "required": ["asOf", "items", "gone"], "additionalProperties": false,
        "properties": [
            "asOf": seq, "items": ["type": "array", "maxItems": 200, "items": ["type": "object"]],
            "gone": ["type": "array", "maxItems": 200, "items": seq],
        ],
    ]
    private static let reload: JSONValue = [
        "type": "object", "required": ["asOf", "reload"], "additionalProperties": false,
        "properties": ["asOf": seq, "reload": ["const": true]],
    ]

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
