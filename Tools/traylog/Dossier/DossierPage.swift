@_spi(Operations) import Traylog

/// A person's file as a page to read: no scripts, nothing from elsewhere.
///
/// Texts and data stand there in full. Of a section with more than 2,000 entries the page has the newest, and says so.
struct DossierPage {
    private let dossier: Dossier
    /// Rows of a section; the rest is in the lines of JSON.
    private static let rows = 2_000

    init(_ dossier: Dossier) { self.dossier = dossier }

    func write(to output: Output) throws {
        let name = HTMLText.escaped(dossier.user)
        try output.lines(AuditPage.documentHead(title: "All data stored about \(name)"))
        try output.line("<h1>All data stored about \(HTMLText.isolated(dossier.user))</h1>")
        try output.lines(facts + Self.style)
        try output.line("<h2 id=\"events\">Items in the tray</h2>")
        try write(
            dossier.items, "What the tray holds now, archived and snoozed items included.",
            ["Item", "When", "From", "What it says"], row, to: output)
        for (role, title, words) in Self.sections {
            let entries = dossier.entries.filter { $0.role == role }
            guard !entries.isEmpty else { continue }
            try output.line("<h2>\(title)</h2>")
            try write(entries, words, ["Event", "When", "Who", "What happened"], row, to: output)
        }
        try output.lines(
            ["<p class=\"sheet\">\(HTMLText.isolated(dossier.user)), root hash \(dossier.head.root.hex)</p>"] + [
                "</main>", "</body>", "</html>",
            ])
    }

    private static let sections: [(Dossier.Role, String, String)] = [
        (.own, "Own events", "Everything that was sent to this person, and what was done with it."),
        (.topic, "Broadcasts received", "What was sent to topics that this person subscribed to."),
        (
            .actor, "As the actor in other trays",
            "Events of others, or broadcasts, that name this person as the actor."
        ),
    ]

    private var facts: [String] {
        let facts: [(String, String)] = [
            ("Made", "\(HTMLText.time(dossier.madeAt)) UTC by traylog \(TraylogCommand.configuration.version)"),
            ("Tree head", dossier.head.size.counted("event")),
            ("Root hash", "<code>\(dossier.head.root.hex)</code>"),
            ("Items in the tray", dossier.items.count.grouped),
            ("Own events", "\(dossier.count(.own).grouped) – erasure removes their content"),
            ("Broadcasts received", "\(dossier.count(.topic).grouped) – erasure does not touch these"),
            (
                "As the actor elsewhere",
                "\(dossier.count(.actor).grouped) – erasure does not touch these; the name stays in them"
            ),
            ("Legal hold", dossier.isHeld ? "yes: nothing can be erased until it is released" : "no"),
        ]
        return ["<dl>"] + facts.map { "<dt>\($0.0)</dt><dd>\($0.1)</dd>" } + ["</dl>"] + [
            "<p class=\"note\">dossier.jsonl, beside this page, has the same with a proof of each event. Times are UTC.</p>"
        ]
    }

    /// On paper the text gets the room: numbers, times and names take a third of the width.
    private static let style = [
        "<style>table{table-layout:fixed}th:nth-child(1){width:8%}th:nth-child(2){width:16%}th:nth-child(3){width:10%}",
        "tbody th,time{white-space:nowrap}.body,.data{white-space:pre-wrap;overflow-wrap:anywhere;margin:.2rem 0}",
        ".data{font:.85em ui-monospace,monospace;color:var(--soft)}.sheet{display:none}",
        "@media print{.sheet{display:block;color:var(--soft);font-size:7pt}}</style>",
    ]

    private func write<Entry>(
        _ entries: [Entry], _ words: String, _ columns: [String], _ row: (Entry) -> [String], to output: Output
    ) throws {
        guard !entries.isEmpty else { return try output.line("<p>None.</p>") }
        let cut =
            entries.count > Self.rows
            ? " These are the newest \(Self.rows.grouped) of \(entries.count.grouped); dossier.jsonl has all of them."
            : ""
        try output.line("<p class=\"note\">\(words)\(cut)</p>")
        let heads = columns.map { "<th scope=\"col\">\($0)</th>" }.joined()
        try output.lines(["<table>", "<thead><tr>\(heads)</tr></thead>", "<tbody>"])
        for entry in entries.suffix(Self.rows) {
            let cells = row(entry)
            let others = zip(columns, cells).dropFirst().map { "<td data-name=\"\($0)\">\($1)</td>" }
            try output.line("<tr><th scope=\"row\">\(cells[0])</th>\(others.joined())</tr>")
        }
        try output.lines(["</tbody>", "</table>"])
    }

    private func row(_ item: Item) -> [String] {
        var parts = [Self.text(of: item.content)]
        var facts = [("state", item.stateText), ("key", item.key ?? ""), ("topic", item.topic ?? "")]
        facts += Self.facts(of: item.content)
        parts.append(Self.words(facts))
        return [
            "\(item.seq)", Self.times(item.recordedAt, item.occurredAt), HTMLText.isolated(item.actor ?? ""),
            parts.joined(),
        ]
    }

    private func row(_ entry: Dossier.Entry) -> [String] {
        let event = entry.event
        var who = [HTMLText.isolated(event.shownActor ?? "")]
        if let device = event.device { who.append("on \(HTMLText.isolated(device))") }
        if entry.role == .actor, let user = event.user { who.append("to \(HTMLText.isolated(user))") }
        var what = HTMLText.summary(event, longestText: .max)
        var facts = [("key", event.key ?? "")]
        switch event.body {
        case .notified(let content):
            what =
                "<strong>\(event.kind.title)</strong> <span class=\"raw\">\(event.kind.rawValue)</span>"
                + Self.text(of: content)
            facts += Self.facts(of: content)
        case .broadcast(let topic, let content):
            what =
                "<strong>\(event.kind.title)</strong> to topic \(HTMLText.isolated(topic)) "
                + "<span class=\"raw\">\(event.kind.rawValue)</span>" + Self.text(of: content)
            facts += Self.facts(of: content)
        case .arrived(let item, let topic, let key, let notifiedAt, let content):
            what =
                "<strong>\(event.kind.title)</strong>"
                + (topic.map { " to topic \(HTMLText.isolated($0))" } ?? "")
                + " <span class=\"raw\">\(event.kind.rawValue)</span>" + Self.text(of: content)
            facts += [
                ("item", "\(item)"), ("its key", key ?? ""), ("notified", HTMLText.time(notifiedAt, isMarked: false)),
            ]
            facts += Self.facts(of: content)
        case .marked(_, let items): facts.append(("items", items.map(\.description).joined(separator: ", ")))
        case .edited: facts.append(("change", event.words))
        default: break
        }
        if entry.isArchived { facts.append(("kept in", "an archive alone")) }
        return [
            "\(event.seq)", Self.times(event.recordedAt, event.occurredAt), who.joined(separator: " "),
            what + Self.words(facts),
        ]
    }

    /// When it happened, and when it was recorded where that is another time.
    private static func times(_ recorded: Timestamp, _ occurred: Timestamp?) -> String {
        guard let occurred, occurred != recorded else { return HTMLText.time(recorded) }
        return "\(HTMLText.time(occurred))<br><span class=\"raw\">recorded \(HTMLText.time(recorded))</span>"
    }

    /// Title, text and data, in full.
    private static func text(of content: Content) -> String {
        let parts = [
            ("strong", content.title), ("div class=\"body\"", content.body), ("pre class=\"data\"", content.data),
        ]
        return parts.map { tag, text in
            text.map { "<\(tag)>\(HTMLText.isolated($0))</\(tag.prefix { $0 != " " })>" } ?? ""
        }.joined(separator: " ")
    }

    private static func facts(of content: Content) -> [(String, String)] {
        [
            ("thread", content.thread ?? ""), ("category", content.category ?? ""),
            ("level", content.level == .active ? "" : content.level.rawValue),
            ("silent", content.isSilent ? "yes" : ""),
            ("expires", content.expiresAt.map { HTMLText.time($0, isMarked: false) } ?? ""),
            ("remind", content.remindAt.map { HTMLText.time($0, isMarked: false) } ?? ""),
            ("not before", content.notBefore.map { HTMLText.time($0, isMarked: false) } ?? ""),
            ("actions", content.actions.map { "\($0.id): \($0.label)" }.joined(separator: ", ")),
            ("collapse key", content.collapseKey ?? ""), ("summary argument", content.summaryArgument ?? ""),
            ("summary count", content.summaryCount == 1 ? "" : "\(content.summaryCount)"),
        ]
    }

    private static func words(_ facts: [(String, String)]) -> String {
        let words = facts.filter { !$0.1.isEmpty }.map { "\($0.0) \(HTMLText.isolated($0.1))" }
        return words.isEmpty ? "" : "<div class=\"raw\">\(words.joined(separator: " · "))</div>"
    }
}

extension Item {
    /// `read, archived`.
    fileprivate var stateText: String {
        var words = [isRead ? "read" : isSeen ? "seen, unread" : "unseen, unread"]
        if isArchived { words.append("archived") }
        if isMuted { words.append("muted") }
        if let outcome { words.append("answered \(HTMLText.isolated(outcome.action))") }
        if let snoozedUntil { words.append("snoozed until \(HTMLText.time(snoozedUntil, isMarked: false))") }
        return words.joined(separator: ", ")
    }
}
