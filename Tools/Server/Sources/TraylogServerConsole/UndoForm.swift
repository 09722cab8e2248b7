import HTTPTypes
import Hummingbird
@_spi(Operations) import Traylog
import TraylogServer

/// What a mark did to a tray, and the form that takes it back.
struct UndoForm {
    struct Change {
        let changed, before, after: String
        let user: Name
        let previous: Seq
    }

    /// The event that took it back.
    var voidedBy: Seq?
    /// What it changed; nil for one that was taken back.
    var change: Change?

    static var all: [ConsolePage] {
        [
            ConsolePage(.post, "/users/{u}/undo", .key(.users), form: ["event"]) { visit in
                let fields = try await visit.form()
                guard let event = fields["event"].flatMap({ Seq($0) }), event > .zero else {
                    throw Problem.invalid("event", "must be the number of an event")
                }
                let path = PercentEncoding.encode(visit.segment("u"))
                // Without an actor it would be the person's own undo.
                let actor = visit.session?.caller.name ?? ""
                _ = try await visit.ask(
                    .post, "/v1/users/\(path)/undo", body: ["event": JSONValue(event), "actor": .string(actor)])
                return .seeOther("\(visit.site)/events/\(event)")
            }
        ]
    }

    /// The effect of an event that can be undone; nil for other events, and where the past is gone.
    static func undo(of event: Event, _ visit: Visit) async throws -> UndoForm? {
        guard event.kind.isUndoable, let user = event.user else { return nil }
        if let undo = try await visit.store.voidedEvents(of: user)[event.seq] { return UndoForm(voidedBy: undo) }
        guard
            let difference = try? await visit.store.proofs.difference(
                of: user, from: .seq(event.seq - 1), to: .seq(event.seq))
        else { return nil }
        return UndoForm(
            change: Change(
                changed: Figures.count(difference.items.count, "item"),
                before: Figures.count(difference.before.unread), after: Figures.count(difference.after.unread),
                user: Name(user), previous: event.seq - 1))
    }
}
