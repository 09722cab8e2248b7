import Traylog

/// A page of an inbox for people.
struct InboxText {
    private let page: InboxPage

    init(_ page: InboxPage) { self.page = page }

    func lines(on terminal: Terminal) -> [String] {
        var result: [String] = []
        if page.items.isEmpty {
            result.append("no items")
        } else {
            var table = Table(
                [
                    .whole("SEQ", .right), .whole("STATE"), .time(showsOccurred ? "OCCURRED" : "RECORDED"),
                    .flexible("THREAD"), .flexible("CATEGORY"),
                    .flexible("TITLE", minimum: 12),
                ], on: terminal)
            result += table.lines(page.items.map(row))
        }
        if let next = page.next { result.append("more: --cursor \(next)") }
        return result
    }

    /// One column never mixes both times.
    private var showsOccurred: Bool { page.items.allSatisfy { $0.occurredAt != nil } }

    private func row(_ item: Item) -> [Cell] {
        [
            Cell(item.seq), Cell(item.stateWords, item.isRead ? .plain : .bold),
            Cell(showsOccurred ? item.occurredAt : item.recordedAt),
            Cell(item.content.thread), Cell(item.content.category),
            Cell(item.content.headline, item.isRead ? .plain : .bold),
        ]
    }
}

extension Item {
    /// `● new muted`: a mark shows unread items, not only a colour.
    var stateWords: String {
        var words = [isRead ? "  read" : isSeen ? "● unread" : "● new"]
        if isMuted { words.append("muted") }
        if content.isSilent { words.append("silent") }
        if isArchived { words.append("archived") }
        if isDeleted { words.append("deleted") }
        if isGone { words.append("gone") }
        if let snoozedUntil { words.append("until \(snoozedUntil.localText)") }
        if content.level != .active { words.append("\(content.level)") }
        return words.joined(separator: " ")
    }
}

extension Content {
    /// Title and body on one line.
    var headline: String { [title, body].compactMap(\.self).joined(separator: " · ") }
}
