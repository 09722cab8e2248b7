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
            ConsolePage(.post, "/users/{u}/undo", .key(.users), form: ["event", "confirm"]) { visit in
                let fields = try await visit.form()
                guard let event = fields["event"].flatMap({ Seq($0) }), event > .zero else {
                    throw Problem.invalid("event", "must be the number of an event")
                }
                let path = PercentEncoding.encode(visit.segment("u"))
                guard fields["confirm"] != nil else { return try await confirmation(event, path, visit) }
                // Without an actor it would be the person's own undo.
                let actor = visit.session?.caller.name ?? ""
                _ = try await visit.ask(
                    .post, "/v1/users/\(path)/undo", body: ["event": JSONValue(event), "actor": .string(actor)])
                return .seeOther("\(visit.site)/events/\(event)")
            }
        ]
    }

    /// What the undo would change; an event that cannot be undone is refused as by the undo itself.
    private static func confirmation(_ seq: Seq, _ path: String, _ visit: Visit) async throws -> Response {
        let user = visit.segment("u")
        let event = try await visit.store.log.event(seq)
        guard event.user.map({ $0.utf8.elementsEqual(user.utf8) }) ?? false else { throw Refusal.unknownEvent(seq) }
        guard event.kind.isUndoable else { throw Refusal.notUndoable(seq, kind: event.kind) }
        let form = try await undo(of: event, visit)
        let summary = EventSummary(event, time: Moments.text)
        let effect = form?.change.map { change in
            "It changed \(change.changed): \(change.before) unread before, \(change.after) after. "
        }
        let device = event.device.map { " on \($0)" } ?? ""
        return ConfirmPage.response(
            "Undo event \(seq)?",
            "\(event.shownActor ?? user)\(device), \(Moments.text(event.recordedAt)): \(summary.title), \(summary.detail). "
                + (effect ?? "")
                + "The tray becomes what it would be without this event: what it marked is no longer so, unless another event "
                + "marked it, too. The undo is an event of its own, in your name, and cannot be undone itself. Items keep "
                + "saying what was undone, by whom and when.",
            button: "Undo event \(seq)", [("event", "\(seq)"), ("confirm", "yes")], to: "/users/\(path)/undo",
            about: user, from: "Event \(seq)", back: "/events/\(seq)", visit)
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
