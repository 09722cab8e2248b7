import Foundation
import TraylogClient

/// The tray in a terminal: a bell, a list, keys.
@MainActor
final class Screen {
    private enum Mode {
        case list
        /// Writing a message: the receiver, then the text.
        case receiver(String)
        case message(to: String, String)
    }

    private enum Happening: Sendable {
        case key(Key)
        case changed
        /// The size of the window may have changed, and nothing else.
        case tick
    }

    private let client: TrayClient
    private var items: [Item] = []
    /// How many items the list shows at most; it grows as the user goes down.
    private var wanted = Limits.pageItems
    private var view: TrayView?
    private var failed = 0
    /// The line that keys are about.
    ///
    /// It stays with its item while others come and go.
    private var selected = 0
    private var mode = Mode.list
    private var note = ""
    private var isOffline = false
    /// What the user did here, for `u`.
    private var done: [String] = []

    init(_ client: TrayClient) { self.client = client }

    func run() async throws {
        guard Terminal.isInteractive else {
            LineOutput.error("traylog-tray: this is no terminal: use --json")
            return
        }
        let (happenings, continuation) = AsyncStream.makeStream(of: Happening.self)
        let (keys, trays, updates) = (Terminal.keys, await client.trays, await client.outbox.updates)
        let feeds = [
            Task {
                for await key in keys { continuation.yield(.key(key)) }
                continuation.finish()
            },
            Task { for await _ in trays { continuation.yield(.changed) } },
            Task { for await _ in updates { continuation.yield(.changed) } },
            Task {
                while (try? await Task.sleep(for: .seconds(1))) != nil { continuation.yield(.tick) }
            },
        ]
        Terminal.enterRawMode()
        defer { Terminal.restore() }
        await client.start()
        await load()
        draw()
        for await happening in happenings {
            if case .key(let key) = happening, await !handle(key) { break }
            if case .tick = happening {} else { await load() }
            draw()
        }
        for feed in feeds { feed.cancel() }
    }

    // MARK: Keys

    /// - Returns: false to end.
    private func handle(_ key: Key) async -> Bool {
        switch mode {
        case .list: return await handleInList(key)
        case .receiver(let text):
            write(key, text) {
                mode = .receiver($0)
            } done: {
                mode = $0.isEmpty ? .list : .message(to: $0, "")
            }
        case .message(let receiver, let text):
            var sent: String?
            write(key, text) {
                mode = .message(to: receiver, $0)
            } done: {
                sent = $0
            }
            guard let sent else { break }
            mode = .list
            if !sent.isEmpty {
                await act("sent to \(receiver)") {
                    try await self.client.send(to: receiver, Content(thread: self.client.user, title: sent)).id
                }
            }
        }
        return true
    }

    private func write(_ key: Key, _ text: String, _ change: (String) -> Void, done: (String) -> Void) {
        switch key {
        case .text(let letter): change(text + letter)
        case .backspace: change(String(text.dropLast()))
        case .enter: done(text)
        case .escape: mode = .list
        default: break
        }
    }

    private func handleInList(_ key: Key) async -> Bool {
        note = ""
        switch key {
        case .down, .text("j"): selected = min(selected + 1, max(0, items.count - 1))
        case .up, .text("k"): selected = max(selected - 1, 0)
        case .text("q"): return false
        case .text("r"), .enter:
            await mark(items.indices.contains(selected) && items[selected].isRead ? .unread : .read)
        case .text("a"): await mark(.archived)
        case .text("d"): await mark(.deleted)
        case .text("s"): await act("seen") { try await self.client.see().id }
        case .text("R"): await act("all read") { try await self.client.markAll(.read).id }
        case .text("u"):
            guard let id = done.popLast() else {
                note = "nothing to undo"
                break
            }
            await act("undone", isUndoable: false) { try await self.client.undo(id) }
        case .text("w"): mode = .receiver("")
        case .text("o"):
            isOffline.toggle()
            await client.setOffline(isOffline)
        case .text("x"):
            do {
                note = "\(try await client.outbox.discardFailed()) discarded"
            } catch {
                note = "\(error)"
            }
        case .text("f"): await client.refresh(.pull)
        default: break
        }
        return true
    }

    private func mark(_ mark: Mark) async {
        guard items.indices.contains(selected) else { return }
        let item = items[selected].seq
        await act(mark.rawValue) { try await self.client.mark(mark, [.seq(item)]).id }
    }

    private func act(_ words: String, isUndoable: Bool = true, _ body: () async throws -> String) async {
        do {
            let id = try await body()
            if isUndoable { done.append(id) }
            note = words
        } catch {
            note = "\(error)"
        }
    }

    // MARK: Drawing

    private func load() async {
        view = await client.tray
        do {
            try await loadItems()
        } catch {
            note = "\(error)"
        }
        failed = await client.outbox.entries.count { $0.state == .failed }
    }

    private func draw() {
        let (columns, rows) = Terminal.size
        var lines = [bell(columns), ""]
        let room = max(1, rows - 4)
        let first = max(0, min(selected - room / 2, items.count - room))
        for index in first..<min(items.count, first + room) { lines.append(line(index, columns)) }
        if items.isEmpty { lines.append("  nothing here".fitted(to: columns)) }
        while lines.count < rows - 2 { lines.append("") }
        lines.append(dimmed(state.fitted(to: columns)))
        lines.append(prompt.fitted(to: columns))
        let text = lines.prefix(rows).map { $0 + "\u{1b}[K" }.joined(separator: "\r\n")
        Terminal.write("\u{1b}[H\(text)\u{1b}[J")
    }

    private func loadItems() async throws {
        let old = items.indices.contains(selected) ? items[selected].seq : nil
        // One page more than what the user has come to.
        if selected + Limits.pageItems / 2 >= wanted { wanted += Limits.pageItems }
        var page = try await client.inbox(InboxQuery(limit: Limits.pageItems))
        var items = page.items
        while items.count < wanted, let next = page.next {
            page = try await client.inbox(InboxQuery(limit: Limits.pageItems, cursor: next))
            items += page.items
        }
        self.items = items
        selected = items.firstIndex { $0.seq == old } ?? min(selected, max(0, items.count - 1))
    }

    private func bell(_ columns: Int) -> String {
        let unread = view?.tray.unread ?? 0
        let text =
            " Tray of \(client.user)  (\(unread)) unread, \(view?.tray.unseen ?? 0) unseen, \(view?.tray.total ?? 0) in all"
        return "\u{1b}[\(unread > 0 ? "1;" : "")7m\(text.fitted(to: columns))\u{1b}[0m"
    }

    private func line(_ index: Int, _ columns: Int) -> String {
        let item = items[index]
        let marker = index == selected ? ">" : " "
        let dot = item.isRead ? " " : item.isSeen ? "o" : "*"
        let who = [item.actor, item.content.thread].compactMap { $0 }.joined(separator: " · ")
        let time = Self.localTime(item.recordedAt)
        let right = columns >= 100 ? "  \(who.fitted(to: 28))  \(time) " : "  \(time) "
        let title = [item.content.title ?? "(no content here)", item.content.body].compactMap { $0 }.joined(
            separator: " - ")
        let text = "\(marker) \(dot) \(title)".fitted(to: max(10, columns - right.count)) + right
        let style = index == selected ? "\u{1b}[7m" : item.isRead ? "" : "\u{1b}[1m"
        return "\(style)\(text)\u{1b}[0m"
    }

    /// Day and time where the user is.
    private static func localTime(_ time: Timestamp) -> String {
        let date = Date(timeIntervalSince1970: Double(time.milliseconds) / 1_000)
        let parts = Calendar.current.dateComponents([.month, .day, .hour, .minute], from: date)
        return String(
            format: "%02d-%02d %02d:%02d", parts.month ?? 0, parts.day ?? 0, parts.hour ?? 0, parts.minute ?? 0)
    }

    private func dimmed(_ text: String) -> String { "\u{1b}[2m\(text)\u{1b}[0m" }

    private var state: String {
        var parts = [view.map { Self.words($0.status) } ?? ""]
        if let pending = view?.pending.count, pending > 0 { parts.append("\(pending) waiting to be sent") }
        if failed > 0 { parts.append("\(failed) failed (x discards)") }
        if !note.isEmpty { parts.append(note) }
        if let error = view?.error { parts.append(error.message) }
        return " " + parts.joined(separator: " · ")
    }

    private static func words(_ status: TrayStatus) -> String {
        switch status {
        case .offline: "offline"
        case .syncing: "syncing"
        case .upToDate: "up to date"
        case .authenticationRequired: "sign in again: the token is refused"
        case .reloading: "loading anew"
        case .erased: "this user was erased"
        case .failing: "the server does not answer well"
        case .inconsistent: "the server rewrote its log"
        }
    }

    private var prompt: String {
        switch mode {
        case .list: " jk move  r read  a archive  d delete  u undo  s see  w write  o offline  q quit"
        case .receiver(let text): " to: \(text)_"
        case .message(let receiver, let text): " to \(receiver): \(text)_"
        }
    }
}
