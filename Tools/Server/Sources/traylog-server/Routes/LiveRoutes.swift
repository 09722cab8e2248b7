import HTTPTypes
import Hummingbird
import Traylog

/// A user's tray as it changes.
enum LiveRoutes {
    static var all: [Route] {
        [
            Route(
                .get, "/v1/users/{u}/live", "A user's tray, again whenever it changes", .reading,
                answers: "text/event-stream"
            ) { call in
                // Checks the name before the answer begins, so that a wrong one gets a status.
                _ = try await call.store.version(of: call.user)
                // The present tray comes first, whatever the caller has seen, so that nothing hangs on the field.
                return try LiveStream.response(call) { writer, answer in
                    for try await tray in call.store.trayUpdates(of: call.user, stopper: answer.stopper) {
                        let data = String(decoding: tray.jsonBytes, as: UTF8.self)
                        // It skips states while a slow reader makes it wait here.
                        let event = LiveStream.event("tray", id: tray.asOf.description, data)
                        try await answer.write(event, to: &writer)
                    }
                }
            }
        ]
    }
}
