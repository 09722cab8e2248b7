import TraylogServer
@_spi(Wire) import Traylog

/// A push notification as providers send it to Apple: what of it an item can show, and the rest as data.
struct APNsPayload {
    private(set) var content = Content()

    /// - Parameter isBackground: whether nothing is to be shown, whatever the payload says.
    init(_ bytes: [UInt8], isBackground: Bool) throws(APNsError) {
        guard case .object(let members)? = try? JSONValue(json: bytes) else { throw .payloadEmpty }
        var aps: [(name: String, value: JSONValue)] = []
        if let given = members.first(where: { $0.name == "aps" })?.value {
            guard case .object(let known) = given else { throw .payloadEmpty }
            aps = known
        }
        let alert = Self.take("alert", &aps)
        read(alert, &aps)
        content.thread = Self.take("thread-id", &aps)?.string
        content.category = Self.take("category", &aps)?.string
        if let name = Self.take("interruption-level", &aps)?.string { content.level = InterruptionLevel(apns: name) }
        content.isSilent = isBackground || alert == nil || alert == .null
        let rest = members.filter { $0.name != "aps" } + (aps.isEmpty ? [] : [("aps", .object(aps))])
        if !rest.isEmpty { content.data = String(decoding: JSONValue.object(rest).bytes, as: UTF8.self) }
    }

    private mutating func read(_ alert: JSONValue?, _ aps: inout [(name: String, value: JSONValue)]) {
        var rest: [(name: String, value: JSONValue)] = []
        switch alert {
        case .string(let text): content.body = text
        case .object(var members):
            content.title = Self.take("title", &members)?.string
            content.body = Self.take("body", &members)?.string
            readSummary(&members)
            rest = members
        default: break
        }
        readSummary(&aps)
        if !rest.isEmpty { aps.append(("alert", .object(rest))) }
    }

    private mutating func readSummary(_ members: inout [(name: String, value: JSONValue)]) {
        if let text = Self.take("summary-arg", &members)?.string { content.summaryArgument = text }
        if let count = Self.take("summary-arg-count", &members)?.integer {
            content.summaryCount = count.clamped(to: 0...UInt32.max)
        }
    }

    private static func take(_ name: String, _ members: inout [(name: String, value: JSONValue)]) -> JSONValue? {
        guard let index = members.firstIndex(where: { $0.name == name }) else { return nil }
        return members.remove(at: index).value
    }

    mutating func set(level name: String) { content.level = InterruptionLevel(apns: name) }

    mutating func set(collapseKey: String?, expiresAt: Timestamp?) {
        content.collapseKey = collapseKey
        content.expiresAt = expiresAt
    }
}

extension InterruptionLevel {
    /// Names that are unknown are as no name.
    fileprivate init(apns name: String) {
        switch name {
        case "passive": self = .passive
        case "time-sensitive": self = .timeSensitive
        case "critical": self = .critical
        default: self = .active
        }
    }
}
