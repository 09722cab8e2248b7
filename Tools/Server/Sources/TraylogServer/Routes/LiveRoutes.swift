import HTTPTypes
import Hummingbird
@_spi(Replication) import Traylog

/// A user's tray as it changes.
enum LiveRoutes {
    static var all: [Route] {
        [
            Route(
                .get, "/v1/users/{u}/live", as: "followTray", "A user's tray, again whenever it changes", .reading,
                origins: .allowed,
                query: ["with"], answers: .events
            ) { call in
                // Checks the name before the answer begins, so that a wrong one gets a status.
                _ = try await call.store.version(of: call.user)
                switch call.query["with"] {
                case nil: return try trays(call)
                case "items": return try items(call)
                default: throw Problem.invalid("with", "must be items")
                }
            }
        ]
    }

    private static func trays(_ call: Call) throws -> Response {
        // The present tray comes first, whatever the caller has seen, so that nothing hangs on the field.
        try LiveStream.response(call) { writer, answer in
            for try await tray in call.store.trayUpdates(of: call.user, stopper: answer.stopper) {
                // It skips states while a slow reader makes it wait here.
                try await answer.write(LiveStream.event(tray), to: &writer)
            }
        }
    }

    /// The same, with the items that changed before each tray.
    private static func items(_ call: Call) throws -> Response {
        let last = try call.headers.text(.lastEventID).flatMap { Seq($0) }
        return try LiveStream.response(call) { writer, answer in
            try await call.service.items.listening(to: call.user) { listener in
                answer.whenEnded { listener.end() }
                let isBehind = try await last.asyncMap { try await missed(since: $0, call) } ?? false
                var tray = try await call.store.tray(of: call.user)
                if isBehind { try await answer.write(ItemUpdate.reload(asOf: tray.asOf), to: &writer) }
                try await answer.write(LiveStream.event(tray), to: &writer)
                let start = tray.asOf
                for await _ in listener.signals {
                    while let update = listener.next() {
                        // What the first tray shows already is nothing new.
                        guard update.asOf > start else { continue }
                        if let items = update.items { try await answer.write(items, to: &writer) }
                        guard !update.tray.isEqual(to: tray) else { continue }
                        tray = update.tray
                        try await answer.write(update.event, to: &writer)
                    }
                }
                try listener.checkEnd()
            }
        }
    }

    /// Whether anything changed since a tray that a stream had sent.
    private static func missed(since seq: Seq, _ call: Call) async throws -> Bool {
        do {
            return try await !call.store.changes(of: call.user, after: seq, limit: 1).events.isEmpty
        } catch TraylogError.refused {
            // It is of before a compaction, or of another store.
            return true
        }
    }
}

extension LiveStream {
    package static func event(_ tray: Tray) -> ByteBuffer {
        event("tray", id: tray.asOf.description, String(decoding: tray.jsonBytes, as: UTF8.self))
    }
}

extension Tray {
    /// Whether both show the same, whenever that was.
    fileprivate func isEqual(to other: Tray) -> Bool {
        var other = other
        other.asOf = asOf
        return self == other
    }
}
