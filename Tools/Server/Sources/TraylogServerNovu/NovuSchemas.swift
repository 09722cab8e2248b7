import TraylogServer

/// The values of fields and members in the description, as Novu names them.
enum NovuSchemas {
    private static let page: [String: JSONValue] = [
        "limit": ["type": "integer", "minimum": 1, "maximum": 100], "after": OpenAPISchemas.ascii(1 << 10),
        "before": OpenAPISchemas.ascii(1 << 10),
        "includeCursor": OpenAPISchemas.flag, "orderDirection": OpenAPISchemas.text(32),
        "orderBy": OpenAPISchemas.text(64),
    ]
    /// Fields of queries, and parts of paths, as Novu names them.
    static let fields = page.merging([
        "offset": OpenAPISchemas.seq, "read": OpenAPISchemas.flag, "archived": OpenAPISchemas.flag,
        "snoozed": OpenAPISchemas.flag, "seen": OpenAPISchemas.flag, "data": OpenAPISchemas.text(512),
        "severity": OpenAPISchemas.choice(["high", "medium", "low", "none"]), "tags": OpenAPISchemas.text(256),
        "createdGte": OpenAPISchemas.seq,
        "createdLte": OpenAPISchemas.seq, "contextKeys": OpenAPISchemas.text(256),
        "filters": OpenAPISchemas.text(1 << 10), "failIfExists": OpenAPISchemas.flag,
        "subscriberId": OpenAPISchemas.identifier, "identifier": OpenAPISchemas.text(1 << 10),
        "key": OpenAPISchemas.text(1 << 10),
    ]) { $1 }
    /// Members of bodies, as Novu names them.
    static let members: [String: JSONValue] = {
        let named: JSONValue = ["anyOf": [OpenAPISchemas.identifier, Schema.novuRecipient.reference]]
        let list: JSONValue = ["type": "array", "minItems": 1, "maxItems": 100, "items": named]
        let texts: JSONValue = [
            "anyOf": [OpenAPISchemas.identifier, ["type": "array", "items": OpenAPISchemas.identifier]]
        ]
        return [
            "name": OpenAPISchemas.identifier, "payload": ["type": "object"],
            "to": ["anyOf": [OpenAPISchemas.identifier, Schema.novuRecipient.reference, list]],
            "overrides": ["type": "object"], "transactionId": OpenAPISchemas.identifier, "actor": named,
            "tenant": named,
            "context": ["type": ["object", "null"]], "agentId": OpenAPISchemas.identifier,
            "bridgeUrl": OpenAPISchemas.text(2 << 10),
            "events": ["type": "array", "minItems": 1, "maxItems": 100, "items": ["type": "object"]],
            "key": OpenAPISchemas.identifier,
            "subscriptions": list, "subscriberIds": list,
            "preferences": ["type": ["array", "null"], "items": OpenAPISchemas.identifier],
            "snoozeUntil": OpenAPISchemas.time, "tags": texts, "data": .object([]),
            "contextKeys": ["type": ["array", "null"], "items": OpenAPISchemas.identifier],
            "notificationIds": ["type": "array", "items": ["type": "string", "pattern": "^[0-9]+$"]],
        ]
    }()
}
