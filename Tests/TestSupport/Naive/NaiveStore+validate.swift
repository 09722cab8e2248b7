import Foundation
import TraylogDomain

/// The limits of Docs/concepts.md: what makes a command `invalid` whatever the state is.
extension NaiveStore {
    package func validate(_ command: Command) throws(Refusal) {
        try validateUser(of: command)
        try identifier(command.key, "key")
        try identifier(command.actor, "actor")
        try identifier(command.device, "device")
        switch command.action {
        case .notify(let content):
            try validate(content)
        case .broadcast(let topic, let content):
            try identifier(topic, "topic")
            try validate(content)
            if content.collapseKey != nil { throw .invalid(field: "collapseKey", reason: "a broadcast has none") }
        case .mark(_, let references):
            if references.isEmpty || references.count > 1_000 { throw .invalid(field: "items", reason: "1…1000") }
            for reference in references { try validate(reference, "items") }
        case .markAll(_, let filter, _):
            if case .named(let thread) = filter.thread { try identifier(thread, "thread") }
            try identifier(filter.category, "category")
        case .mute(let scope, _), .unmute(let scope):
            switch scope {
            case .thread(let thread): try identifier(thread, "thread")
            case .category(let category): try identifier(category, "category")
            case .topic(let topic): try identifier(topic, "topic")
            case .all: break
            }
        case .snooze(let reference, _), .wake(let reference), .retract(let reference):
            try validate(reference, "item")
        case .edit(let reference, let edit):
            try validate(reference, "item")
            try validate(edit)
        case .subscribe(let topic), .unsubscribe(let topic):
            try identifier(topic, "topic")
        case .act(let reference, let action, let note, _):
            try validate(reference, "item")
            try identifier(action, "action")
            try text(action, "action", 64)
            try text(note, "note", 1_024)
        case .seeTray, .undo:
            break
        }
    }

    private func validateUser(of command: Command) throws(Refusal) {
        switch (command.action, command.user) {
        case (.broadcast, .some): throw .invalid(field: "user", reason: "a broadcast has none")
        case (.broadcast, nil), (.edit, nil), (.retract, nil): break
        case (_, nil): throw .invalid(field: "user", reason: "missing")
        case (_, .some(let user)): try identifier(user, "user")
        }
    }

    private func validate(_ reference: ItemReference, _ field: String) throws(Refusal) {
        if case .key(let key) = reference { try identifier(key, field) }
    }

    private func validate(_ content: Content) throws(Refusal) {
        try identifier(content.thread, "thread")
        try identifier(content.category, "category")
        try text(content.title, "title", 1_024)
        try text(content.body, "body", 16 * 1_024)
        try identifier(content.summaryArgument, "summaryArgument")
        try content.checkTimes()
        try identifier(content.collapseKey, "collapseKey")
        if content.actions.count > 8 { throw .invalid(field: "actions", reason: "1…8") }
        for action in content.actions {
            try identifier(action.id, "actions")
            try text(action.id, "actions", 64)
            try text(action.label, "actions", 128)
            if action.label.isEmpty { throw .invalid(field: "actions", reason: "empty label") }
        }
        if Set(content.actions.map { Name($0.id) }).count < content.actions.count {
            throw .invalid(field: "actions", reason: "twice")
        }
        try json(content.data)
    }

    private func validate(_ edit: ContentEdit) throws(Refusal) {
        // Applied to nothing, the edit leaves what it sets. Times in a wrong order depend on what the item has already.
        var content = Content().edited(edit)
        content.notBefore = nil
        try validate(content)
    }

    private func identifier(_ value: String?, _ field: String) throws(Refusal) {
        guard let value else { return }
        if value.isEmpty || value.utf8.count > 256 { throw .invalid(field: field, reason: "1…256 bytes") }
        let isControl = { (scalar: Unicode.Scalar) in
            scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value)
        }
        if value.unicodeScalars.contains(where: isControl) { throw .invalid(field: field, reason: "control character") }
    }

    private func text(_ value: String?, _ field: String, _ limit: Int) throws(Refusal) {
        if let value, value.utf8.count > limit { throw .invalid(field: field, reason: "over \(limit) bytes") }
    }

    private func json(_ value: String?) throws(Refusal) {
        try text(value, "data", 64 * 1_024)
        guard let value else { return }
        do {
            _ = try JSONSerialization.jsonObject(with: Data(value.utf8), options: .fragmentsAllowed)
        } catch {
            throw .invalid(field: "data", reason: "not JSON")
        }
    }
}

extension Content {
    /// Nothing is over, and nobody is reminded of it, before it arrives.
    func checkTimes() throws(Refusal) {
        guard let notBefore else { return }
        for (time, field) in [(expiresAt, "expiresAt"), (remindAt, "remindAt")]
        where time ?? .distantFuture <= notBefore {
            throw .invalid(field: field, reason: "before it arrives")
        }
    }
}

extension Timestamp {
    fileprivate static var distantFuture: Timestamp { Timestamp(milliseconds: .max) }
}
