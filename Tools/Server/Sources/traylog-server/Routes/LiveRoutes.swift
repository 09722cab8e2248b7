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
                // The present tray comes first, whatever the caller has seen, so that nothing hangs on the field.
                try LiveStream.response(call) { mailbox in
                    for try await tray in call.store.trayUpdates(of: call.user) {
                        let data = String(decoding: tray.jsonBytes, as: UTF8.self)
                        mailbox.replace(LiveStream.event("tray", id: tray.asOf.description, data))
                    }
                }
            }
        ]
    }
}
