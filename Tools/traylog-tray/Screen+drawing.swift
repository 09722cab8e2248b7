import Foundation
import TerminalText
import TraylogClient

extension Screen {
    /// Draws each line at its place, without wrapping: what a terminal measures in another way stays in its line.
    func draw() {
        let (columns, rows) = Terminal.size
        let room = max(1, rows - 4)
        var lines = [bell(columns), heading(columns)]
        switch mode {
        case .item(let line):
            lines += columns < Self.wide ? itemLines(columns, room, from: line) : both(columns, room, line)
        case .threads(let index): lines += threadLines(columns, room, selected: index)
        case .help: lines += Self.help.prefix(room).map { $0.fitted(to: columns) }
        case .list, .asking: lines += listLines(columns, room)
        }
        while lines.count < rows - 2 { lines.append("") }
        lines = lines.prefix(max(1, rows - 2)) + [dimmed(state.fitted(to: columns)), prompt.fitted(to: columns)]
        let text = lines.prefix(rows).enumerated().map { row, line in "\u{1b}[\(row + 1);1H\(line)\u{1b}[K" }.joined()
        Terminal.write("\u{1b}[?7l\(text)\u{1b}[J\u{1b}[?7h")
    }

    private func bell(_ columns: Int) -> String {
        let unread = view?.tray.unread ?? 0
        // Numbers of a tray that was never loaded would be wrong.
        let counts =
            view?.tray.asOf == .zero && !isCurrent
            ? "not loaded yet" : "\(unread) unread, \(view?.tray.unseen ?? 0) unseen, \(view?.tray.total ?? 0) in all"
        return "\u{1b}[\(unread > 0 ? "1;" : "")7m\(" Tray of \(client.user)  \(counts)".fitted(to: columns))\u{1b}[0m"
    }

    private var isCurrent: Bool { if case .upToDate? = view?.status { true } else { false } }

    /// What narrows the list.
    private func heading(_ columns: Int) -> String {
        var parts: [String] = []
        if onlyUnread { parts.append("unread only") }
        switch thread {
        case .named(let name): parts.append("thread \(name)")
        case .unthreaded: parts.append("items without a thread")
        case .any: break
        }
        if !filter.isEmpty { parts.append("with \"\(filter)\"") }
        var text = parts.isEmpty ? "" : "\(parts.joined(separator: ", ")) · Esc shows all"
        if let quiet {
            let end = quiet.until.map { " until \(Self.localTime($0))" } ?? ""
            text = "quiet\(end) (m ends it)" + (text.isEmpty ? "" : " · \(text)")
        }
        return text.isEmpty ? "" : dimmed(" \(text)".fitted(to: columns))
    }

    // MARK: List

    /// From this width on an open item stands beside its list.
    private static let wide = 120

    private func both(_ columns: Int, _ room: Int, _ line: Int) -> [String] {
        let left = columns * 2 / 5
        let (list, item) = (listLines(left, room), itemLines(columns - left - 2, room, from: line))
        return (0..<max(list.count, item.count)).map { row in
            let place = "\u{1b}[\(left + 1)G\u{1b}[K"
            return (row < list.count ? list[row] : "") + "\(place)\(dimmed("│")) \(row < item.count ? item[row] : "")"
        }
    }

    private func listLines(_ columns: Int, _ room: Int) -> [String] {
        let first = max(0, min(selected - room / 2, items.count - room))
        let lines = (first..<min(items.count, first + room)).map { line($0, columns) }
        return lines.isEmpty ? ["  nothing here".fitted(to: columns)] : lines
    }

    private func line(_ index: Int, _ columns: Int) -> String {
        let item = items[index]
        let marker = index == selected ? ">" : " "
        // Two columns, of which all but a critical item leave the first one empty.
        let sign =
            switch item.content.level {
            case .critical: "!!"
            case .timeSensitive: " !"
            default: item.isRead ? "  " : item.isSeen ? " o" : " *"
            }
        let names = [item.actor, item.content.thread].compactMap { $0 }.joined(separator: " · ")
        let time = Self.localTime(item.occurredAt ?? item.recordedAt)
        let who = columns >= 100 ? names.fitted(to: 28) + "  " : ""
        let left = max(10, columns - DisplayWidth.of(who) - DisplayWidth.of(time) - 3)
        let title = [item.content.title ?? "(no content here)", item.content.body].compactMap { $0 }.joined(
            separator: " - "
        ).replacingOccurrences(of: "\n", with: " ")
        // Each part has its own column, however wide a terminal draws what is left of it.
        let text =
            "\(marker)\(sign) \(title)".fitted(to: left) + "\u{1b}[\(left + 1)G  \(who)"
            + "\u{1b}[\(columns - DisplayWidth.of(time))G\(time) "
        let style = index == selected ? "\u{1b}[7m" : item.isRead ? "" : "\u{1b}[1m"
        let colour = item.content.level == .critical ? "\u{1b}[31m" : ""
        return "\(style)\(colour)\(text)\u{1b}[0m"
    }

    private func threadLines(_ columns: Int, _ room: Int, selected: Int) -> [String] {
        let first = max(0, min(selected - room / 2, threads.count - room))
        let lines = (first..<min(threads.count, first + room)).map { index in
            let group = threads[index]
            let right = "  \(group.unread) unread of \(group.count) "
            let left = max(10, columns - DisplayWidth.of(right))
            let name =
                "\(index == selected ? ">" : " ") \(group.thread ?? "(no thread)") - \(group.newest.content.title ?? "")"
            let style = index == selected ? "\u{1b}[7m" : group.unread > 0 ? "\u{1b}[1m" : ""
            return "\(style)\(name.fitted(to: left))\u{1b}[\(left + 1)G\(right)\u{1b}[0m"
        }
        return lines.isEmpty ? ["  no threads".fitted(to: columns)] : lines
    }

    // MARK: One item

    private func itemLines(_ columns: Int, _ room: Int, from line: Int) -> [String] {
        guard let item else { return [] }
        let width = max(10, min(columns - 4, 100))
        var lines = (item.content.title ?? "(no title)").wrapped(to: width).map { "\u{1b}[1m  \($0)\u{1b}[0m" }
        lines += facts(item).flatMap { $0.wrapped(to: width) }.map { dimmed("  \($0)") } + [""]
        lines += (item.content.body ?? "").wrapped(to: width).map { "  \($0)" }
        if !item.content.actions.isEmpty {
            lines += [""] + answers(item).flatMap { $0.wrapped(to: width) }.map { "  \($0)" }
        }
        if let link = ItemLink(item) { lines += [""] + "link: \(link.address)".wrapped(to: width).map { "  \($0)" } }
        if let data = item.content.data { lines += ["", dimmed("  data")] + data.wrapped(to: width).map { "  \($0)" } }
        let first = min(line, max(0, lines.count - room))
        if first != line { mode = .item(line: first) }
        return Array(lines[first..<min(lines.count, first + room)])
    }

    /// What the item offers, by the keys that choose it, or what was chosen.
    private func answers(_ item: Item) -> [String] {
        guard let outcome = item.outcome else {
            let edited = changed.contains(item.seq) ? ["edited since you answered: read it again"] : []
            return edited + item.content.actions.enumerated().map { "\($0 + 1)  \($1.label)" }
        }
        let label = item.content.actions.first { $0.id == outcome.action }?.label ?? outcome.action
        let who = outcome.actor == client.user ? "" : " by \(outcome.actor)"
        return ["answered\(who), \(Self.localTime(outcome.at)): \(label)"] + (outcome.note.map { [$0] } ?? [])
    }

    private func facts(_ item: Item) -> [String] {
        var states = [item.isRead ? "read" : "unread", item.isSeen ? "seen" : "unseen"]
        if item.isMuted { states.append("muted") }
        if item.content.level != .active { states.append(item.content.level.rawValue) }
        var facts = ["\(Self.localTime(item.occurredAt ?? item.recordedAt)) · \(states.joined(separator: ", "))"]
        let names = [
            ("from", item.actor), ("thread", item.content.thread), ("category", item.content.category),
            ("topic", item.topic),
        ]
        let words = names.compactMap { name, text in text.map { "\(name) \($0)" } }
        if !words.isEmpty { facts.append(words.joined(separator: " · ")) }
        if item.occurredAt != nil { facts.append("recorded \(Self.localTime(item.recordedAt))") }
        return facts
    }

    /// Day and time where the user is.
    static func localTime(_ time: Timestamp) -> String {
        let date = Date(timeIntervalSince1970: Double(time.milliseconds) / 1_000)
        let parts = Calendar.current.dateComponents([.month, .day, .hour, .minute], from: date)
        return String(
            format: "%02d-%02d %02d:%02d", parts.month ?? 0, parts.day ?? 0, parts.hour ?? 0, parts.minute ?? 0)
    }

    private func dimmed(_ text: String) -> String { "\u{1b}[2m\(text)\u{1b}[0m" }

    // MARK: The last lines

    private var state: String {
        var parts = [status]
        if let pending = view?.pending.count, pending > 0 { parts.append("\(pending) waiting to be sent") }
        if failed > 0 { parts.append("\(failed) failed (x discards)") }
        if !note.isEmpty { parts.append(note) }
        // Last, because it is the longest.
        if !isOffline, let error = view?.error { parts.append(error.message) }
        return " " + parts.filter { !$0.isEmpty }.joined(separator: " · ")
    }

    /// How the client stands; without a connection also when it tries again.
    private var status: String {
        guard let view else { return "" }
        guard case .offline = view.status else { return Self.words(view.status) }
        if isOffline { return "offline, as you asked (o goes online)" }
        guard let reconnection else { return "offline" }
        return reconnection < 1 ? "offline, trying now" : "offline, trying again in \(Int(reconnection.rounded())) s"
    }

    private static func words(_ status: TrayStatus) -> String {
        switch status {
        case .offline: "offline"
        case .syncing: "syncing"
        case .upToDate: "up to date"
        case .authenticationRequired: "sign in again: the server refuses the token"
        case .reloading: "loading everything again"
        case .erased: "this user was erased"
        case .failing: "the server does not answer properly"
        case .inconsistent: "the server rewrote its log"
        }
    }

    private var prompt: String {
        switch mode {
        case .list: " \(choices)Enter open  r read  a archive  d delete  z snooze  / find  t threads  ? keys"
        case .item: " \(choices)Esc back  jk next  r read  a archive  d delete  z snooze  l open link  ? keys"
        case .threads: " Enter show the thread  Esc back  ? keys"
        case .help: " any key goes back"
        case .asking(.filter, let text): " find: \(text)_"
        case .asking(.receiver, let text): " to: \(text)_"
        case .asking(.message(let receiver), let text): " to \(receiver): \(text)_"
        case .asking(.quiet, let text): " quiet for (30m, 2h, 3d, 1w, tomorrow; nothing: until m): \(text)_"
        case .asking(.snooze, let text): " snooze for (30m, 2h, 3d, 1w, tomorrow): \(text)_"
        }
    }

    /// The answers that the selected item waits for.
    private var choices: String {
        guard let item, item.outcome == nil else { return "" }
        return item.content.actions.enumerated().map { "\($0 + 1) \($1.label)  " }.joined()
    }

    private static let help = [
        "  j k  arrows  PgUp PgDn  g G   move            Enter  open an item or a thread",
        "  r  read or unread             a  archive      d  delete",
        "  z  snooze                     l  open its link",
        "  1 … 8  answer                 m  do not disturb",
        "  s  mark everything seen       R  mark all read",
        "  u  unread only                /  find         t  threads   Esc  show all",
        "  U  undo what you did here     w  write a message",
        "  o  go offline and back        f  try again    x  discard what failed",
        "  q  quit                       *  new          o  unread, and seen   !  urgent   !! critical",
    ]
}
