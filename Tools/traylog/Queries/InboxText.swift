import Traylog

/// A page of an inbox for people.
struct InboxText {
    private let page: Page<Item, Traylog.Cursor>

    init(_ page: Page<Item, Traylog.Cursor>) { self.page = page }

    func lines(on terminal: Terminal) -> [String] {
        var result: [String] = []
        if page.elements.isEmpty {
            result.append("no items")
        } else {
            var table = Table(
                [.whole("SEQ", .right), .whole("STATE"), .time("RECORDED")]
                    + (showsThread(on: terminal) ? [.flexible("THREAD")] : [])
                    + (showsCategory(on: terminal) ? [.flexible("CATEGORY")] : []) + [.main("TITLE")], on: terminal)
            result += table.lines(page.elements.map { row($0, on: terminal) })
        }
        if let next = page.next { result.append("more: --cursor \(next)") }
        return result
    }

    /// A narrow terminal gives the room to the title.
    private func showsThread(on terminal: Terminal) -> Bool { terminal.columns >= 100 }

    private func showsCategory(on terminal: Terminal) -> Bool { terminal.columns >= 110 }

    private func row(_ item: Item, on terminal: Terminal) -> [Cell] {
        [
            Cell(item.seq), Cell(item.stateWords, item.isRead ? .plain : .bold),
            showsThread(on: terminal) ? Cell(item.cameAt) : Cell(short(item.cameAt), .dim),
        ] + (showsThread(on: terminal) ? [Cell(item.content.thread)] : [])
            + (showsCategory(on: terminal) ? [Cell(item.content.category)] : []) + [
                Cell(item.content.headline, item.isRead ? .plain : .bold)
            ]
    }

    /// Day and minute; of another year than that of the page's newest item, the date.
    private func short(_ time: Timestamp) -> String {
        let newest = page.elements.map(\.cameAt).max()?.localText ?? ""
        let text = time.localText
        return text.prefix(5) == newest.prefix(5) ? String(text.dropFirst(5).prefix(11)) : String(text.prefix(10))
    }
}

extension Item {
    /// When the log recorded that it came: one clock for all items, whatever their senders claim.
    fileprivate var cameAt: Timestamp { arrivedAt ?? recordedAt }

    /// `● new muted`: a mark shows unread items, not only a colour.
    var stateWords: String {
        var words = [isRead ? "  read" : isSeen ? "● unread" : "● new"]
        if isMuted { words.append("muted") }
        if content.isSilent { words.append("silent") }
        if isArchived { words.append("archived") }
        if isDeleted { words.append("deleted") }
        if isGone { words.append("gone") }
        if let snoozedUntil { words.append("until \(snoozedUntil.localText)") }
        if let outcome {
            words.append("answered \(outcome.action)")
        } else if !content.actions.isEmpty {
            words.append("asks")
        }
        if content.level != .active { words.append("\(content.level)") }
        return words.joined(separator: " ")
    }
}

extension Content {
    /// Title and body on one line.
    var headline: String { [title, body].compactMap(\.self).joined(separator: " · ") }
}
