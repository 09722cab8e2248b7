import Foundation
import Logging
import Traylog

/// Logs one JSON object a line, on standard error.
///
/// It never has contents, and names of users only if told so.
struct ServiceLog: Sendable {
    func write(_ members: [(name: String, value: JSONValue)]) {
        let time = JSONValue.string(Timestamp.now.rfc3339)
        var bytes = JSONValue.object([("time", time)] + members).bytes
        bytes.append(UInt8(ascii: "\n"))
        // Nothing is left to report to when this fails.
        try? FileHandle.standardError.write(contentsOf: Data(bytes))
    }
}

/// The same for what the server's libraries log.
struct ServiceLogHandler: LogHandler {
    let label: String
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.warning

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        ServiceLog().write([
            ("level", .string(event.level.rawValue)), ("source", .string(label)),
            ("message", .string("\(event.message)")),
        ])
    }
}
