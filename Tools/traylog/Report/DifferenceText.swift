@_spi(Operations) import Traylog

/// Writes the changes between two moments for people.
struct DifferenceText {
    private let difference: TrayDifference
    private let events: [Event]
    /// The event that holds the user.
    private let hold: Event?

    init(_ difference: TrayDifference, _ events: [Event], _ hold: Event?) {
        (self.difference, self.events, self.hold) = (difference, events, hold)
    }

    func lines(on terminal: Terminal) -> [String] {
        let (before, after) = (difference.before, difference.after)
        var facts: [(String, Cell)] = [("user", Cell(difference.user, .bold))]
        if let hold { facts.append(hold.holdFact) }
        facts += [
            ("as of", Cell("\(before.asOf) → \(after.asOf)")),
            ("unseen", Cell(before.unseen.change(to: after.unseen))),
            ("unread", Cell(before.unread.change(to: after.unread))),
            ("total", Cell(before.total.change(to: after.total))),
            (
                "seen up to",
                Cell(before.seenUpTo == after.seenUpTo ? "\(after.seenUpTo)" : "\(before.seenUpTo) → \(after.seenUpTo)")
            ),
        ]
        if difference.items.isEmpty, events.isEmpty {
            return [
                "nothing changed between event \(before.asOf) and event \(after.asOf): \(VisibleText(difference.user).text) has "
                    + "\(after.unseen.grouped) unseen, \(after.unread.grouped) unread, \(after.total.grouped) in all"
            ]
        }
        return FactsText(facts).lines(on: terminal) + items(on: terminal) + timeline(on: terminal)
    }

    private func items(on terminal: Terminal) -> [String] {
        guard !difference.items.isEmpty else { return [] }
        var table = Table(
            [
                .whole("ITEM", .right), .whole("CHANGE"), .flexible("WHAT"), .main("TITLE"),
                .flexible("BY"),
            ], on: terminal)
        let rows = difference.items.map { item in
            [
                Cell(item.item), Cell(item.kind.rawValue), Cell(item.words), Cell(item.content.headline),
                Cell(item.by.map(\.description).joined(separator: ", ")),
            ]
        }
        return [""] + table.lines(rows)
    }

    private func timeline(on terminal: Terminal) -> [String] {
        guard !events.isEmpty else { return [] }
        var table = Table(
            [
                .whole("EVENT", .right), .time("RECORDED"), .flexible("ACTOR"), .whole("KIND"),
                .main("WHAT"), .whole("UNREAD", .right), .whole("UNSEEN", .right),
            ], on: terminal)
        let rows = zip(difference.steps, events).map { step, event in
            [
                Cell(event.seq), Cell(event.recordedAt), Cell(event.shownActor), Cell(event.kind.rawValue),
                Cell(event.words), Cell(step.before.unread.change(to: step.after.unread)),
                Cell(step.before.unseen.change(to: step.after.unseen)),
            ]
        }
        return [""] + table.lines(rows)
    }
}

extension ItemChange {
    /// The present standing, where it differs from the earlier one.
    var words: String {
        guard let before else { return (["new"] + after.words).joined(separator: ", ") }
        var words: [String] = []
        func say(_ flag: KeyPath<ItemStanding, Bool>, _ yes: String, _ no: String) {
            if before[keyPath: flag] != after[keyPath: flag] { words.append(after[keyPath: flag] ? yes : no) }
        }
        say(\.isSeen, "seen", "unseen")
        say(\.isRead, "read", "unread")
        say(\.isArchived, "archived", "unarchived")
        say(\.isDeleted, "deleted", "restored")
        say(\.isGone, "gone", "back")
        say(\.isSnoozed, "snoozed", "awake")
        if before.position != after.position { words.append("moved to \(after.position)") }
        if isEdited { words.append("edited") }
        return words.joined(separator: ", ")
    }
}

extension ItemStanding {
    /// The marks of a new item that are not the usual ones.
    fileprivate var words: [String] {
        let flags = [
            (isRead, "read"), (isSeen && !isRead, "seen"), (isArchived, "archived"), (isDeleted, "deleted"),
            (isGone, "gone"),
            (isSnoozed, "snoozed"), (isMuted, "muted"), (isSilent, "silent"),
        ]
        return flags.filter(\.0).map(\.1)
    }
}
