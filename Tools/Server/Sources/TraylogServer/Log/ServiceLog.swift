import Logging
import TraylogJSON

/// The server's log, through swift-log: the program writes JSON lines (``ServiceLogHandler``), and an app uses its own handler.
///
/// Entries never have contents, and names of users only if told so.
package struct ServiceLog: Sendable {
    static let label = "traylog"

    private let logger = Logger(label: label)

    /// Logs what an operator should see: with an error as a warning.
    package func write(_ members: [(name: String, value: JSONValue)]) {
        let isFault = members.contains { $0.name == "error" || $0.name == "warning" }
        log(isFault ? .warning : .notice) { line in
            for member in members {
                line.name(member.name)
                line.raw(String(decoding: member.value.bytes, as: UTF8.self))
            }
        }
    }

    /// Logs a request.
    package func note(_ members: @escaping @Sendable (inout JSONWriter) -> Void) { log(.info, members) }

    private func log(_ level: Logger.Level, _ members: @escaping @Sendable (inout JSONWriter) -> Void) {
        logger.log(level: level, "traylog", metadata: [LogEntry.key: .stringConvertible(LogEntry(members: members))])
    }
}

/// The members of an entry, made when a handler writes it.
struct LogEntry: CustomStringConvertible, Sendable {
    static let key = "entry"

    let members: @Sendable (inout JSONWriter) -> Void

    init(members: @escaping @Sendable (inout JSONWriter) -> Void) { self.members = members }

    /// The entry of an event; nil for one of a library.
    init?(_ metadata: Logger.Metadata?) {
        guard case .stringConvertible(let value)? = metadata?[Self.key], let entry = value as? LogEntry else {
            return nil
        }
        self = entry
    }

    /// As a JSON object, for handlers that know only text.
    var description: String {
        var writer = JSONWriter()
        writer.beginObject()
        members(&writer)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
