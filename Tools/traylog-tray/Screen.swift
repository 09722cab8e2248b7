import Foundation
import TraylogClient

/// The tray in a terminal: a bell, a list, one item, keys.
@MainActor
final class Screen {
    /// What the keys are about, and what the window shows.
    enum Mode {
        case list
        /// One item in full, from this line on.
        case item(line: Int)
        case threads(selected: Int)
        case help
        /// Writing on the last line.
        case asking(Question, String)
    }

    enum Question {
        case filter, receiver, snooze, quiet
        case message(to: String)
    }

    private enum Happening: Sendable {
        case key(Key)
        case changed
        /// The size of the window, or the time until the next attempt, may have changed, and nothing else.
        case tick
    }

    let client: TrayClient
    var items: [Item] = []
    var threads: [ThreadGroup] = []
    /// How many items the list shows at most; it grows as the user goes down.
    private var wanted = Limits.pageItems
    var view: TrayView?
    /// Do not disturb, if it is on.
    var quiet: Mute?
    var failed = 0
    /// The line that keys are about.
    ///
    /// It stays with its item while others come and go.
    var selected = 0
    var mode = Mode.list
    var note = ""
    var isOffline = false
    /// Seconds until the connection is looked for again.
    var reconnection: Double?
    var onlyUnread = false
    /// Items show whose title or body has these words; all when it is empty.
    var filter = ""
    /// The thread whose items show.
    var thread = ItemFilter.Thread.any
    /// The oldest state that the list shows: what an answer is to.
    private var asOf: Seq?
    /// Answers of this session that are not known to have been refused, by their entry in the outbox.
    private var answered: [String: Seq] = [:]
    /// Items that were edited before an answer to them arrived: they wait for another one.
    var changed: Set<Seq> = []
    /// What the user did here, for `U`.
    private var undoing: [() async throws -> String] = []

    init(_ client: TrayClient) { self.client = client }

    var item: Item? { items.indices.contains(selected) ? items[selected] : nil }

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
            if case .tick = happening { reconnection = await client.outbox.reconnectionSeconds } else { await load() }
            draw()
        }
        for feed in feeds { feed.cancel() }
    }

    // MARK: Keys

    /// - Returns: false to end.
    private func handle(_ key: Key) async -> Bool {
        note = ""
        switch mode {
        case .list: return await handleInList(key)
        case .item(let line): await handle(key, inItemFrom: line)
        case .threads(let index): handle(key, inThreadsAt: index)
        case .help: mode = .list
        case .asking(let question, let text): await handle(key, question, text)
        }
        return true
    }

    private func handleInList(_ key: Key) async -> Bool {
        switch key {
        case .text("q"): return false
        case .enter:
            if item != nil { mode = .item(line: 0) }
        case .text("/"): mode = .asking(.filter, filter)
        case .text("u"):
            onlyUnread.toggle()
            selected = 0
        case .text("t"): mode = .threads(selected: 0)
        case .text("w"): mode = .asking(.receiver, "")
        case .text("?"): mode = .help
        case .escape:
            (filter, thread, onlyUnread) = ("", .any, false)
        default:
            if !move(key) { await act(on: key) }
        }
        return true
    }

    /// Moves the selection.
    private func move(_ key: Key) -> Bool {
        let page = max(1, Terminal.size.rows - 5)
        let last = max(0, items.count - 1)
        switch key {
        case .down, .text("j"): selected = min(selected + 1, last)
        case .up, .text("k"): selected = max(selected - 1, 0)
        case .pageDown, .text(" "): selected = min(selected + page, last)
        case .pageUp: selected = max(selected - page, 0)
        case .home, .text("g"): selected = 0
        case .end, .text("G"): selected = last
        default: return false
        }
        return true
    }

    private func handle(_ key: Key, inItemFrom line: Int) async {
        let page = max(1, Terminal.size.rows - 5)
        switch key {
        case .escape, .enter, .text("q"), .backspace: mode = .list
        case .text("?"): mode = .help
        case .down: mode = .item(line: line + 1)
        case .up: mode = .item(line: max(0, line - 1))
        case .pageDown, .text(" "): mode = .item(line: line + page)
        case .pageUp: mode = .item(line: max(0, line - page))
        case .text("j"), .text("k"):
            _ = move(key)
            mode = .item(line: 0)
        default:
            await act(on: key)
            // What is gone from the list is not shown in place of the next one.
            if [.text("a"), .text("d")].contains(key) { mode = .list }
        }
    }

    private func handle(_ key: Key, inThreadsAt index: Int) {
        switch key {
        case .down, .text("j"): mode = .threads(selected: min(index + 1, max(0, threads.count - 1)))
        case .up, .text("k"): mode = .threads(selected: max(index - 1, 0))
        case .enter:
            guard threads.indices.contains(index) else { break }
            thread = threads[index].thread.map { .named($0) } ?? .unthreaded
            (selected, mode) = (0, .list)
        case .text("?"): mode = .help
        case .escape, .text("q"), .text("t"): mode = .list
        default: break
        }
    }

    /// What is done to the selected item, or to all.
    private func act(on key: Key) async {
        switch key {
        case .text("r"): await mark(item?.isRead == true ? .unread : .read)
        case .text("a"): await mark(.archived)
        case .text("d"): await mark(.deleted)
        case .text("z"): if item != nil { mode = .asking(.snooze, "") }
        case .text("l"): openLink()
        case .text("m"): await toggleQuiet()
        case .text(let digit) where "12345678".contains(digit): await answer(number: Int(digit) ?? 0)
        case .text("s"): await act("everything seen") { try await self.client.see().id }
        case .text("R"): await act("all read") { try await self.client.markAll(.read).id }
        case .text("U"):
            guard let undo = undoing.popLast() else {
                note = "nothing to undo"
                break
            }
            await act("undone", isUndoable: false, undo)
        case .text("o"):
            isOffline.toggle()
            await client.setOffline(isOffline)
        case .text("x"):
            do {
                note = "\(try await client.outbox.discardFailed()) discarded"
            } catch {
                note = "\(error)"
            }
        case .text("f"):
            await client.outbox.retryNow()
            await client.refresh(.pull)
        default: break
        }
    }

    private func handle(_ key: Key, _ question: Question, _ text: String) async {
        switch key {
        case .text(let letter): ask(question, text + letter)
        case .backspace: ask(question, String(text.dropLast()))
        case .escape:
            if case .filter = question { filter = "" }
            mode = .list
        case .enter:
            mode = .list
            await answer(question, text)
        default: break
        }
    }

    private func ask(_ question: Question, _ text: String) {
        mode = .asking(question, text)
        // The list follows while one types.
        if case .filter = question { (filter, selected) = (text, 0) }
    }

    private func answer(_ question: Question, _ text: String) async {
        switch question {
        case .filter: filter = text
        case .receiver: if !text.isEmpty { mode = .asking(.message(to: text), "") }
        case .message(let receiver):
            guard !text.isEmpty else { return }
            await act("sent to \(receiver)") {
                try await self.client.send(to: receiver, Content(thread: self.client.user, title: text)).id
            }
        case .quiet:
            let until = SnoozeTime(text)?.time
            guard until != nil || text.isEmpty else {
                note = "still disturbed: \"\(text)\" is no time; type 30m, 2h, 3d, 1w, tomorrow or nothing"
                return
            }
            await act("quiet: only critical items count", isUndoable: false) {
                try await self.client.mute(.all, until: until).id
            }
            undoing.append { try await self.client.unmute(.all).id }
        case .snooze:
            guard let item else { return }
            guard let until = SnoozeTime(text)?.time else {
                note = "not snoozed: \"\(text)\" is no time; type 30m, 2h, 3d, 1w or tomorrow"
                return
            }
            await act("snoozed until \(Self.localTime(until))", isUndoable: false) {
                try await self.client.snooze(.seq(item.seq), until: until).id
            }
            // A snooze is no mark: waking the item is what takes it back.
            undoing.append { try await self.client.wake(.seq(item.seq)).id }
        }
    }

    private func mark(_ mark: Mark) async {
        guard let item else { return }
        await act(mark.rawValue) { try await self.client.mark(mark, [.seq(item.seq)]).id }
    }

    /// Gives the final answer to the selected item.
    private func answer(number: Int) async {
        guard let item, item.content.actions.indices.contains(number - 1) else { return }
        if let outcome = item.outcome {
            note = "answered already: \(outcome.action)"
            return
        }
        let action = item.content.actions[number - 1]
        await act("answered: \(action.label)", isUndoable: false) {
            let id = try await self.client.act(.seq(item.seq), action: action.id, asOf: self.asOf).id
            self.answered[id] = item.seq
            self.changed.remove(item.seq)
            return id
        }
    }

    private func toggleQuiet() async {
        guard quiet != nil else {
            mode = .asking(.quiet, "")
            return
        }
        await act("no longer quiet", isUndoable: false) { try await self.client.unmute(.all).id }
    }

    private func openLink() {
        guard let item else { return }
        guard let link = ItemLink(item) else {
            note = "this item has no link"
            return
        }
        note = link.open() ? "opened \(link.address)" : link.address
    }

    private func act(_ words: String, isUndoable: Bool = true, _ body: () async throws -> String) async {
        do {
            let id = try await body()
            if isUndoable { undoing.append { try await self.client.undo(id) } }
            note = words
        } catch {
            note = "\(error)"
        }
    }

    // MARK: Loading

    private func load() async {
        view = await client.tray
        do {
            quiet = try await client.mutes().mutes.first { $0.scope == .all }
            try await loadItems()
            if case .threads(let index) = mode {
                threads = try await client.threads(limit: Limits.pageItems).elements
                mode = .threads(selected: min(index, max(0, threads.count - 1)))
            }
        } catch {
            note = "\(error)"
        }
        let refused = await client.outbox.entries.filter { $0.state == .failed }
        failed = refused.count
        for entry in refused where entry.problem?.code == Refusal.Code.changedSince.rawValue {
            guard let seq = answered.removeValue(forKey: entry.id) else { continue }
            changed.insert(seq)
            note = "not answered: it was edited meanwhile; look at it again"
        }
        reconnection = await client.outbox.reconnectionSeconds
    }

    private func loadItems() async throws {
        let old = item?.seq
        // One page more than what the user has come to.
        if selected + Limits.pageItems / 2 >= wanted { wanted += Limits.pageItems }
        var query = InboxQuery(ItemFilter(onlyUnread: onlyUnread), limit: Limits.pageItems)
        query.filter.thread = thread
        if !filter.isEmpty { query.filter.text = filter }
        var items: [Item] = []
        var oldest: Seq?
        repeat {
            let page = try await client.inbox(query)
            items += page.elements
            oldest = min(oldest ?? page.asOf, page.asOf)
            query.cursor = page.next
        } while items.count < wanted && query.cursor != nil
        (self.items, asOf) = (items, oldest)
        selected = items.firstIndex { $0.seq == old } ?? min(selected, max(0, items.count - 1))
        if items.isEmpty, case .item = mode { mode = .list }
    }
}
