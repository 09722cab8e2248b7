import Dispatch
import Foundation
import Logging
import Synchronization
import Traylog

/// Logs one JSON object a line, on standard error.
///
/// It never has contents, and names of users only if told so.
struct ServiceLog: Sendable {
    private struct Lines {
        var text = JSONWriter()
        /// Whether they will be written soon.
        var isTimed = false
    }

    /// Until they are written, in order.
    private static let lines = Mutex(Lines())
    /// The thread that writes lines holds this; it fills the same memory again with the next ones.
    private static let output = Mutex(JSONWriter())
    private static let queue = DispatchQueue(label: "traylog.log")
    private static let delay = DispatchTimeInterval.milliseconds(100)
    /// With as many bytes whoever logs waits until they are written.
    private static let mostBytes = 1 << 20

    /// Writes a line at once.
    func write(_ members: [(name: String, value: JSONValue)]) {
        note { line in
            for member in members {
                line.name(member.name)
                line.raw(String(decoding: member.value.bytes, as: UTF8.self))
            }
        }
        Self.flush()
    }

    /// Writes a line within a tenth of a second, together with others.
    ///
    /// A request has one, and a call of the system takes as long as the rest of a short one's handling.
    func note(_ members: (inout JSONWriter) -> Void) {
        let (isFirst, bytes) = Self.lines.withLock { lines in
            lines.text.beginObject()
            lines.text.member("time", Timestamp.now)
            members(&lines.text)
            lines.text.endObject()
            lines.text.newline()
            defer { lines.isTimed = true }
            return (!lines.isTimed, lines.text.bytes.count)
        }
        if bytes >= Self.mostBytes { Self.flush() }
        guard isFirst else { return }
        Self.queue.asyncAfter(deadline: .now() + Self.delay) {
            Self.lines.withLock { $0.isTimed = false }
            Self.flush()
        }
    }

    /// Writes what waits: nothing may when the process ends.
    static func flush() {
        output.withLock { text in
            lines.withLock { swap(&$0.text, &text) }
            // Nothing is left to report to when this fails.
            if !text.bytes.isEmpty { try? FileHandle.standardError.write(contentsOf: Data(text.bytes)) }
            text.removeAll()
        }
    }
}

/// The same for what the server's libraries log.
struct ServiceLogHandler: LogHandler {
    let label: String
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.warning

    /// Keeps nothing, because lines do not have it, and every request brings some.
    subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        ServiceLog().write([
            ("level", .string(event.level.rawValue)), ("source", .string(label)),
            ("message", .string("\(event.message)")),
        ])
    }
}
