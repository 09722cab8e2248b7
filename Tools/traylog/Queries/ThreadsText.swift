import Traylog

/// A page of threads for people.
struct ThreadsText {
    private let page: Page<ThreadGroup, Cursor>

    init(_ page: Page<ThreadGroup, Cursor>) { self.page = page }

    func lines(on terminal: Terminal) -> [String] {
        var result: [String] = []
        if page.elements.isEmpty {
            result.append("no threads")
        } else {
            var table = Table(
                [
                    .flexible("THREAD"), .whole("COUNT", .right), .whole("UNSEEN", .right), .whole("UNREAD", .right),
                    .main("NEWEST"), .flexible("SUMMARY"),
                ], on: terminal)
            result += table.lines(page.elements.map(row))
        }
        if let next = page.next { result.append("more: --cursor \(next)") }
        return result
    }

    private func row(_ group: ThreadGroup) -> [Cell] {
        let style: Style = group.unread > 0 ? .bold : .plain
        return [
            group.thread.map { Cell($0, style) } ?? Cell("(none)", .dim), Cell(group.count), Cell(group.unseen),
            Cell(group.unread > 0 ? "● \(group.unread)" : "0", style), Cell(group.newest.content.headline, style),
            Cell(group.summary),
        ]
    }
}
