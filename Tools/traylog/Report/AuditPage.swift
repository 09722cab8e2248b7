import Traylog

/// A user's timeline as one page for browsers: no scripts, nothing from elsewhere.
struct AuditPage {
    let report: AuditReport
    let hasProofs: Bool

    /// - Parameters:
    ///   - points: the points of the chart above the table: the time of each event, and the unread items then.
    ///   - next: the next entries; nil when there are no more.
    func write(
        to output: Output, points: [(time: Int64, unread: Int)], _ next: () throws -> [AuditEntry]?
    ) throws {
        try output.lines(head)
        try output.lines(summary)
        if !points.isEmpty {
            try output.line("<h2>Unread items over time</h2>")
            try output.lines(
                UnreadChart(before: report.before.unread, points).lines(
                    title: "Unread items of \(report.user) over time"))
        }
        try output.lines(tableHead)
        while let entries = try next() { try output.lines(entries.map(row)) }
        try output.lines(foot)
    }

    private var head: [String] {
        let title = "Audit of \(HTMLText.escaped(report.user))"
        return [
            "<!DOCTYPE html>", "<html lang=\"en\">", "<head>", "<meta charset=\"utf-8\">",
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
            // Nothing is loaded and nothing runs, whatever a title says.
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            "<title>\(title)</title>", "<style>",
        ] + Self.style + [
            "</style>", "</head>", "<body>", "<a class=\"skip\" href=\"#events\">To the events</a>", "<main>",
            "<h1>Audit of \(HTMLText.isolated(report.user))</h1>",
        ]
    }

    private var summary: [String] {
        let tray = report.tray
        let facts: [(String, String)] = [
            (
                "Events looked at",
                "\(report.from) to \(report.through) of the log, \(report.steps.count.grouped) of them here"
            ),
            ("Before", Self.words(report.before.unread, report.before.unseen, report.before.total)),
            ("After", Self.words(tray.unread, tray.unseen, tray.total)),
            ("Tree head", "\(report.treeHead.size) events"),
            ("Root hash", "<code>\(report.treeHead.root.hex)</code>"),
        ]
        return ["<dl>"] + facts.map { "<dt>\($0.0)</dt><dd>\($0.1)</dd>" } + [
            "</dl>",
            "<p class=\"note\">The tree head binds this report to the log: an auditor who has kept it, or a later one, can "
                + "prove that no event shown here was changed, dropped, added or moved since. Times are UTC; the log's order "
                + "is that of its numbers.</p>",
        ]
    }

    private static func words(_ unread: Int, _ unseen: Int, _ total: Int) -> String {
        "\(unread.grouped) unread, \(unseen.grouped) unseen, \(total.grouped) listed"
    }

    private var tableHead: [String] {
        let columns = [
            "Event", "Recorded", "Occurred", "Actor", "Device", "What happened", "Unread", "Unseen",
        ]
        return [
            "<h2 id=\"events\">Events</h2>", "<table>",
            "<caption>What happened, oldest first, and what it changed</caption>",
            "<thead><tr>" + columns.map { "<th scope=\"col\">\($0)</th>" }.joined() + "</tr></thead>", "<tbody>",
        ]
    }

    private func row(_ entry: AuditEntry) -> String {
        let (event, step) = (entry.event, entry.step)
        var what = "<strong>\(event.kind.name)</strong>"
        if !event.words.isEmpty { what += " \(HTMLText.isolated(event.words))" }
        if let tray = step.tray { what += Self.details("Tray", Self.words(tray)) }
        if let proof = entry.proof { what += Self.details("Proof", Self.words(proof)) }
        let cells = [
            HTMLText.time(event.recordedAt), HTMLText.time(event.occurredAt),
            HTMLText.isolated(event.actorShown ?? ""), HTMLText.isolated(event.device ?? ""), what,
        ]
        return "<tr id=\"event-\(event.seq)\"><th scope=\"row\">\(event.seq)</th>"
            + cells.map { "<td>\($0)</td>" }.joined() + Self.change(step.before.unread, step.after.unread)
            + Self.change(step.before.unseen, step.after.unseen) + "</tr>"
    }

    private static func change(_ before: Int, _ after: Int) -> String {
        guard before != after else { return "<td class=\"same\">\(after)</td>" }
        return "<td class=\"change\">\(before)&nbsp;→&nbsp;\(after)</td>"
    }

    private static func details(_ title: String, _ content: String) -> String {
        "<details><summary>\(title)</summary>\(content)</details>"
    }

    private static func words(_ tray: Tray) -> String {
        let counts = tray.categories.map {
            "<li>\(HTMLText.isolated($0.category)): \($0.unread) unread, \($0.unseen) unseen</li>"
        }
        return "<p>\(words(tray.unread, tray.unseen, tray.total)); seen up to \(tray.seenUpTo)</p>"
            + (counts.isEmpty ? "" : "<ul>\(counts.joined())</ul>")
    }

    private static func words(_ proof: EventProof) -> String {
        let path = proof.inclusion.path.map { "<li><code>\($0.hex)</code></li>" }.joined()
        return "<p>Leaf \(proof.inclusion.leafIndex) of \(proof.head.size): <code>\(proof.leafHash.hex)</code></p>"
            + (path.isEmpty ? "" : "<ol>\(path)</ol>")
    }

    private var foot: [String] {
        let proofs =
            hasProofs
            ? "Each proof is the leaf's place and the hashes beside its way to the root hash (RFC 9162, 2.1.3)."
            : "Proofs were left out of this report."
        return ["</tbody>", "</table>", "<p class=\"note\">\(proofs)</p>", "</main>", "</body>", "</html>"]
    }

    private static let style = [
        ":root{color-scheme:light dark;--ink:#1b1b1f;--paper:#fff;--soft:#5b5b66;--rule:#d5d5dd;--mark:#0b57d0}",
        "@media(prefers-color-scheme:dark){:root{--ink:#ececf1;--paper:#17171b;--soft:#a9a9b6;--rule:#3a3a44;--mark:#8ab4f8}}",
        "body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}",
        "main{max-width:75rem;margin:0 auto;padding:1.5rem}",
        "h1{font-size:1.6rem;margin:0 0 1rem}h2{font-size:1.2rem;margin:2rem 0 .5rem}",
        "dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1.5rem;margin:0}dt{color:var(--soft)}dd{margin:0}",
        "code{font:.8em ui-monospace,monospace;overflow-wrap:anywhere}.note,caption,figcaption{color:var(--soft);font-size:.9rem}",
        "figure{margin:0}svg{width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:var(--soft)}",
        ".axis{fill:none;stroke:var(--rule)}.line{fill:none;stroke:var(--mark);stroke-width:2;stroke-linejoin:round}",
        "table{width:100%;border-collapse:collapse;font-size:.9rem}caption{text-align:left;padding-bottom:.5rem}",
        "th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid var(--rule)}",
        "td{overflow-wrap:anywhere}thead th{position:sticky;top:0;background:var(--paper)}time{white-space:nowrap}",
        "tbody th,.same,.change{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}",
        "thead th:nth-child(n+7),thead th:first-child{text-align:right}tbody th{font-weight:normal}.same{color:var(--soft)}.change{font-weight:bold}summary{cursor:pointer;color:var(--mark)}",
        ".skip{position:absolute;left:-100rem}.skip:focus{left:1rem;top:1rem;background:var(--paper);padding:.5rem}",
        "@media print{:root{--ink:#000;--paper:#fff;--soft:#444;--rule:#bbb;--mark:#000}main{max-width:none;padding:0}",
        "thead{display:table-header-group}thead th{position:static}tr{break-inside:avoid}body{font-size:10pt}}",
    ]
}
