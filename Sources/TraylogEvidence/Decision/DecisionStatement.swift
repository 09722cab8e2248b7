import TraylogDomain
import TraylogJSON

/// What a user answered, and to which text: all of it follows from the events that are given.
@_spi(Operations) public struct DecisionStatement: Hashable, Sendable {
    /// The user whose tray it is.
    public let user: String
    /// The event that brought the item.
    public let item: Seq
    /// Set for a broadcast.
    public let topic: String?
    /// The item's content as it was on the screen.
    public let content: Content
    /// The answer.
    public let outcome: Outcome
    /// The text of the action that was chosen.
    public let label: String
    /// The first edit after the answer; nil when the log has none up to the tree head.
    public let later: Seq?

    /// An event, and the stream that its leaf says.
    package struct Part {
        package let event: Event
        package let stream: UInt32

        package init(_ event: Event, stream: UInt32) { (self.event, self.stream) = (event, stream) }
    }

    /// - Parameters:
    ///   - shown: the event that brought the item, and every edit of it up to the answer's `asOf`.
    ///   - later: the first edit after the answer.
    /// - Throws: ``Refusal/invalid(field:reason:)`` where the events are not those of one decision, or where one is missing.
    package init(user: String, shown: [Part], answer: Part, later: Part?) throws(Refusal) {
        guard let origin = shown.first else { throw Self.wrong("shown", "is empty") }
        (self.user, item) = (user, origin.event.seq)
        var content = Content()
        switch origin.event.body {
        case .notified(let brought) where origin.event.user.hasSameBytes(as: user):
            (content, topic) = (brought, nil)
        case .notified: throw Self.wrong("shown", "event \(item) is an item of somebody else than \(user)")
        case .broadcast(let name, let brought): (content, topic) = (brought, name)
        default: throw Self.wrong("shown", "event \(item) brought no item")
        }
        var (last, rest, count) = (item, shown.dropFirst(), UInt64(0))
        if content.notBefore != nil {
            guard let arrival = rest.popFirst() else {
                throw Self.wrong("shown", "event \(item) only planned an item, and its arrival is missing")
            }
            content = try Self.arrival(arrival, of: origin)
            (last, count) = (arrival.event.seq, arrival.event.edits)
        }
        for edit in rest {
            count &+= 1
            content = content.applying(try Self.edit(edit, of: origin, after: last, number: count))
            last = edit.event.seq
        }
        self.content = content
        outcome = try Self.outcome(of: answer, user, to: origin, edits: count)
        // The item itself may have come after a page that its user has open: it is then answered as it came.
        guard last == item || last <= outcome.asOf else {
            throw Self.wrong("shown", "event \(last) came after event \(outcome.asOf), which was on the screen")
        }
        label = try Self.label(of: outcome.action, in: content)
        self.later = later?.event.seq
        guard let later else { return }
        _ = try Self.edit(later, of: origin, after: outcome.seq, number: count &+ 1)
    }

    /// The content with which a scheduled item arrived.
    private static func arrival(_ part: Part, of origin: Part) throws(Refusal) -> Content {
        let seq = part.event.seq
        guard case .arrived(origin.event.seq, _, _, _, let content) = part.event.body, part.stream == origin.stream,
            seq > origin.event.seq
        else { throw wrong("event", "\(seq) is no arrival of item \(origin.event.seq)") }
        return content
    }

    private static func edit(
        _ part: Part, of origin: Part, after last: Seq, number: UInt64
    ) throws(Refusal) -> ContentEdit {
        let seq = part.event.seq
        guard case .edited(let item, let edit) = part.event.body, item == origin.event.seq, part.stream == origin.stream
        else { throw wrong("event", "\(seq) is no edit of item \(origin.event.seq)") }
        guard seq > last else {
            throw wrong("event", "\(seq) comes after event \(last): the order is not that of the log")
        }
        guard part.event.edits == number else {
            throw wrong("event", "\(seq) is edit \(part.event.edits) of the item, and edit \(number) is missing")
        }
        return edit
    }

    private static func outcome(
        of answer: Part, _ user: String, to origin: Part, edits: UInt64
    ) throws(Refusal) -> Outcome {
        let (event, item) = (answer.event, origin.event.seq)
        guard case .acted(item, _, _, _) = event.body, let outcome = Outcome(event) else {
            throw wrong("answer", "event \(event.seq) is no answer to item \(item)")
        }
        guard event.user.hasSameBytes(as: user), (answer.stream == origin.stream) == (origin.event.user != nil) else {
            throw wrong("answer", "event \(event.seq) is an answer of \(event.user ?? "nobody"), not of \(user)")
        }
        guard event.edits == edits else {
            throw wrong(
                "answer", "event \(event.seq) answers an item with \(event.edits) edits, and \(edits) are shown")
        }
        return outcome
    }

    private static func label(of action: String, in content: Content) throws(Refusal) -> String {
        guard let found = content.actions.first(where: { $0.id.hasSameBytes(as: action) }) else {
            throw wrong("answer", "the item has no action \"\(action)\"")
        }
        return found.label
    }

    private static func wrong(_ field: String, _ reason: String) -> Refusal { .invalid(field: field, reason: reason) }
}

extension DecisionStatement {
    /// Who answered what, to which title and when, in one sentence without its end.
    public var sentence: String {
        let who = outcome.actor.utf8.elementsEqual(user.utf8) ? user : "\(outcome.actor), for \(user),"
        let title = content.title.map { "\"\($0)\" (item \(item))" } ?? "item \(item)"
        let edited = later.map { ", which was edited later, by event \($0)" } ?? ""
        return "\(who) answered \"\(outcome.action)\" (\(label)) to \(title) at \(outcome.at), as it was after event "
            + "\(outcome.asOf)\(edited)"
    }

    /// Writes the members `decision` and `text`.
    func members(to writer: inout JSONWriter) {
        writer.name("decision")
        writer.beginObject()
        writer.member("user", user)
        writer.member("item", item)
        writer.member("topic", topic)
        writer.member("title", content.title)
        writer.member("label", label)
        writer.member("later", later)
        writer.name("outcome")
        writer.write(outcome)
        writer.endObject()
        writer.name("text")
        writer.write(content)
    }
}
