import Traylog

/// A person's file as a page to read: no scripts, nothing from elsewhere.
struct DossierPage {
    private let dossier: Dossier
    /// Rows that a page shows; the rest is in the lines of JSON.
    private static let rows = 2_000
    /// The longest text in a row.
    private static let longestText = 300

    init(_ dossier: Dossier) { self.dossier = dossier }

    func write(to output: Output) throws {
        let name = HTMLText.escaped(dossier.user)
        try output.lines(AuditPage.documentHead(title: "All that is held of \(name)"))
        try output.line("<h1>All that is held of \(HTMLText.isolated(dossier.user))</h1>")
        try output.lines(facts)
        try output.line("<h2>Items in the tray</h2>")
        try output.lines(
            table(["Item", "Recorded", "Thread", "Category", "Title"], dossier.items.prefix(Self.rows).map(row)))
        for (role, title) in [
            (Dossier.Role.own, "Own events"), (.topic, "Broadcasts received"), (.actor, "As the actor in other trays"),
        ] {
            let entries = dossier.entries.filter { $0.role == role }
            guard !entries.isEmpty else { continue }
            try output.line("<h2>\(title)</h2>")
            if entries.count > Self.rows {
                try output.line(
                    "<p class=\"note\">The newest \(Self.rows.grouped) of \(entries.count.grouped); all are in dossier.jsonl.</p>"
                )
            }
            try output.lines(
                table(
                    ["Event", "Recorded", "Occurred", "Whose", "Actor", "Device", "What happened"],
                    entries.suffix(Self.rows).map(row)))
        }
        try output.lines(["</main>", "</body>", "</html>"])
    }

    private var facts: [String] {
        let facts: [(String, String)] = [
            ("Made", HTMLText.time(dossier.madeAt)), ("Head", "\(dossier.head.size.grouped)"),
            ("Root hash", "<code>\(dossier.head.root.hex)</code>"),
            ("Own events", "\(dossier.count(.own).grouped): an erasure takes what they say"),
            ("Broadcasts received", "\(dossier.count(.topic).grouped): an erasure leaves them"),
            ("As actor elsewhere", "\(dossier.count(.actor).grouped): an erasure leaves them, with the name"),
            ("Items in the tray", dossier.items.count.grouped), ("Held", dossier.isHeld ? "yes" : "no"),
        ]
        return ["<dl>"] + facts.map { "<dt>\($0.0)</dt><dd>\($0.1)</dd>" } + ["</dl>"]
    }

    private func table(_ columns: [String], _ rows: [[String]]) -> [String] {
        guard !rows.isEmpty else { return ["<p>None.</p>"] }
        return [
            "<table>", "<thead><tr>" + columns.map { "<th scope=\"col\">\($0)</th>" }.joined() + "</tr></thead><tbody>",
        ]
            + rows.map { row in
                "<tr>" + zip(columns, row).map { "<td data-name=\"\($0)\">\($1)</td>" }.joined() + "</tr>"
            } + ["</tbody></table>"]
    }

    private func row(_ item: Item) -> [String] {
        [
            "\(item.seq)", HTMLText.time(item.recordedAt), text(item.content.thread), text(item.content.category),
            text(item.content.headline),
        ]
    }

    private func row(_ entry: Dossier.Entry) -> [String] {
        let event = entry.event
        return [
            "\(event.seq)", HTMLText.time(event.recordedAt), HTMLText.time(event.occurredAt), text(event.user),
            text(event.actorShown), text(event.device),
            "<strong>\(event.kind.rawValue)</strong> \(text(event.words))" + (entry.isArchived ? " (archived)" : ""),
        ]
    }

    private func text(_ text: String?) -> String { HTMLText.isolated((text ?? "").truncated(to: Self.longestText)) }
}
