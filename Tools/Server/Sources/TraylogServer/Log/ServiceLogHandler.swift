import Dispatch
import Foundation
import Logging
import Synchronization
import Traylog
import TraylogJSON

/// Writes what is logged as one JSON object a line, on standard error: the program's handler for swift-log.
///
/// One queue writes, so nothing else waits for a slow reader. While a megabyte of lines is unread, later lines are dropped; the next
/// line that is written says how many.
package struct ServiceLogHandler: LogHandler {
    private struct Lines {
        var text = JSONWriter()
        /// Whether they will be written soon.
        var isTimed = false
        /// How many did not fit since that was said last.
        var dropped: UInt64 = 0
    }

    /// Until they are written, in order.
    private static let lines = Mutex(Lines())
    /// Used by the queue alone: the lines to write; its memory is reused.
    private static let output = Mutex(JSONWriter())
    private static let queue = DispatchQueue(label: "traylog.log")
    private static let delay = DispatchTimeInterval.milliseconds(100)
    private static let mostBytes = 1 << 20
    /// The end of the process waits no longer than this for the reader.
    private static let timeout = DispatchTimeInterval.milliseconds(500)

    private let label: String
    package var metadata: Logger.Metadata = [:]
    package var logLevel: Logger.Level

    /// All of the server's own entries are written; of libraries only warnings and errors.
    package init(label: String) {
        self.label = label
        logLevel = label == ServiceLog.label ? .info : .warning
    }

    /// Keeps nothing: what libraries add to each request is in no line.
    package subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    package func log(event: LogEvent) {
        if let entry = LogEntry(event.metadata) {
            Self.add(entry.members)
        } else {
            Self.add { line in
                line.member("level", event.level.rawValue)
                line.member("source", label)
                line.member("message", "\(event.message)")
            }
        }
        // A request has a line, and a call of the system takes as long as the rest of a short one's handling.
        if event.level <= .info { Self.writeSoon() } else { Self.queue.async { Self.writeLines() } }
    }

    /// Writes within a tenth of a second, together with other lines.
    private static func writeSoon() {
        let isFirst = lines.withLock { lines in
            defer { lines.isTimed = true }
            return !lines.isTimed
        }
        guard isFirst else { return }
        queue.asyncAfter(deadline: .now() + delay) {
            lines.withLock { $0.isTimed = false }
            writeLines()
        }
    }

    private static func add(_ members: (inout JSONWriter) -> Void) {
        lines.withLock { lines in
            guard lines.text.bytes.count < mostBytes else {
                lines.dropped += 1
                return
            }
            lines.text.line(members)
        }
    }

    /// Writes what waits; on the queue, because it takes as long as the reader.
    private static func writeLines() {
        output.withLock { text in
            lines.withLock { lines in
                swap(&lines.text, &text)
                guard lines.dropped > 0 else { return }
                text.line { line in
                    line.member("droppedLines", lines.dropped)
                    line.member("error", "nobody read the log for so long that lines were dropped")
                }
                lines.dropped = 0
            }
            // Nothing is left to report to when this fails.
            if !text.bytes.isEmpty { try? FileHandle.standardError.write(contentsOf: Data(text.bytes)) }
            text.removeAll()
        }
    }

    /// Writes what waits, and then a last text that is no line of the log: nothing may be left when the process ends.
    ///
    /// It gives up after half a second, when nobody reads.
    package static func flush(_ last: String = "") {
        let done = DispatchSemaphore(value: 0)
        queue.async {
            writeLines()
            if !last.isEmpty { try? FileHandle.standardError.write(contentsOf: Data(last.utf8)) }
            done.signal()
        }
        _ = done.wait(timeout: .now() + timeout)
    }
}

extension JSONWriter {
    /// Adds an object with the time, on a line of its own.
    fileprivate mutating func line(_ members: (inout JSONWriter) -> Void) {
        beginObject()
        member("time", Timestamp.now)
        members(&self)
        endObject()
        newline()
    }
}
