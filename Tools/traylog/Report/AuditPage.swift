import TerminalText
@_spi(Operations) import Traylog

/// A user's timeline as one page for browsers: no scripts, nothing from elsewhere.
struct AuditPage {
    let report: AuditReport
    /// The event that holds the user; nil when nobody holds the user.
    let hold: Event?
    let hasProofs: Bool
    let totals: AuditTotals
    /// The store's directory.
    let store: String
    let floor: Seq
    /// Events that compactions took out of the log.
    let dropped: UInt64
    /// The directory of the archives that were read; nil without any.
    let archive: String?
    /// The tree head as a signed note; nil when nobody signed it.
    let checkpoint: String?
    /// Which page this is, from 0 on.
    let number: Int
    /// The file of each page.
    let names: [String]
    /// How the items that came in the report's time stand at its end; nil where that is unknown.
    let arrivals: [ItemStanding]?
    /// Whether the store has a user of this name.
    let isKnown: Bool
    /// Which of an event's times the chart goes by.
    let isByOccurrence: Bool
    private let madeAt = Timestamp.now
    /// The longest text in a row, so that a page stays small; the JSON has all of it.
    private static let longestText = 300

    init(
        report: AuditReport, hold: Event?, hasProofs: Bool, totals: AuditTotals, store: String, floor: Seq,
        dropped: UInt64, archive: String?, checkpoint: String?, number: Int, names: [String],
        arrivals: [ItemStanding]?, isKnown: Bool, isByOccurrence: Bool
    ) {
        self.arrivals = arrivals
        (self.isKnown, self.isByOccurrence) = (isKnown, isByOccurrence)
        (self.report, self.hold) = (report, hold)
        self.hasProofs = hasProofs
        self.totals = totals
        self.store = store
        self.floor = floor
        self.dropped = dropped
        self.archive = archive
        self.checkpoint = checkpoint
        self.number = number
        self.names = names
    }

    /// Events of a page, which keep it below 2 MB.
    static func rows(hasProofs: Bool, hasTrays: Bool) -> Int { hasProofs ? 600 : hasTrays ? 1_000 : 2_000 }

    /// `alice.html`, `alice-2.html`.
    static func name(_ path: String, _ number: Int) -> String {
        guard number > 0 else { return path }
        guard path.hasSuffix(".html") else { return "\(path)-\(number + 1)" }
        return "\(path.dropLast(5))-\(number + 1).html"
    }

    /// What tells our pages from other files.
    private static let mark = "<meta name=\"generator\" content=\"traylog\">"

    /// Whether a file is a page that this program wrote.
    static func isPage(_ path: String) -> Bool { FileText.beginning(path, bytes: 512)?.contains(mark) ?? false }

    /// - Parameters:
    ///   - points: the points of the chart above the table: the time of each event, and the unread items then.
    ///   - next: the next entries; nil when there are no more.
    func write(
        to output: Output, points: [UnreadChart.Point], _ next: () throws -> [AuditEntry]?
    ) throws {
        try output.lines(head)
        if number == 0, isKnown, let arrivals { try output.line("<p class=\"verdict\">\(verdict(arrivals))</p>") }
        try output.lines(summary(points))
        if !points.isEmpty, number == 0 {
            try output.line("<h2>Unread and unseen items over time</h2>")
            try output.lines(
                UnreadChart(before: report.before, points, isByOccurrence: isByOccurrence).lines(
                    title: "Unread items of \(report.user) over time"))
        }
        guard !report.steps.isEmpty else {
            try output.lines(["<p class=\"note\">\(absence)</p>", "</main>", "</body>", "</html>"])
            return
        }
        try output.lines(pageLinks + filters + tableHead)
        while let entries = try next() { try output.lines(entries.map(row)) }
        try output.lines(foot)
    }

    /// Why there are no rows.
    private var absence: String {
        isKnown
            ? "No event of this time touched the tray."
            : "There is no user \(HTMLText.isolated(report.user)) in this store. Names are case-sensitive."
    }

    private var head: [String] {
        Self.documentHead(title: "Audit of \(HTMLText.escaped(report.user))") + [
            "<h1>Audit of \(HTMLText.isolated(report.user))</h1>"
        ]
    }

    /// The beginning of a page, through the opening of `main`.
    ///
    /// - Parameter title: escaped.
    static func documentHead(title: String) -> [String] {
        [
            "<!DOCTYPE html>", "<html lang=\"en\">", "<head>", "<meta charset=\"utf-8\">", mark,
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
            // Nothing is loaded and nothing runs, whatever a title says.
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            "<title>\(title)</title>", "<style>",
        ] + Self.style + [
            "</style>", "</head>", "<body>", "<a class=\"skip\" href=\"#events\">To the events</a>", "<main>",
        ]
    }

    /// The answer that a reader looks for first.
    private func verdict(_ items: [ItemStanding]) -> String {
        guard !items.isEmpty else { return "No item came in this time." }
        func words(_ count: Int) -> String { count == items.count ? "all" : count == 0 ? "none" : count.grouped }
        let (seen, read) = (items.count(where: \.isSeen), items.count(where: \.isRead))
        let quiet = items.count { $0.isMuted || $0.isSilent }
        let came = "\(items.count.counted("item")) came in this time"
        let sight =
            "\(HTMLText.isolated(report.user)) had seen \(words(seen)) of them; \(words(read)) were marked read."
        return came + (quiet == 0 ? "" : ", \(quiet.grouped) of them quietly") + ". By its end " + sight
    }

    /// People ask for days; numbers of events tell them nothing.
    private func dates(_ points: [UnreadChart.Point]) -> String {
        guard let first = points.map(\.time).min(), let last = points.map(\.time).max() else { return "" }
        let times = [first, last].map { HTMLText.time(Timestamp(milliseconds: $0)) }
        return ", \(isByOccurrence ? "which happened" : "recorded") from \(times[0]) to \(times[1])"
    }

    private func summary(_ points: [UnreadChart.Point]) -> [String] {
        let tray = report.tray
        var facts: [(String, String)] = [
            ("Made", "\(HTMLText.time(madeAt)) by traylog \(TraylogCommand.configuration.version)"),
            ("Store", HTMLText.isolated(store)),
            (
                "Events looked at",
                "\(report.from) to \(report.through) of the log, \(report.steps.count.grouped) of them here"
                    + dates(points)
            ),
            ("Before", Self.words(report.before.unread, report.before.unseen, report.before.total)),
            ("After", Self.words(tray.unread, tray.unseen, tray.total)),
            (
                "Removed by compaction",
                floor == .zero
                    ? "none"
                    : "\(dropped.counted("event")) below event \(floor)"
                        + (archive.map { "; included from \(HTMLText.isolated($0))" } ?? "")
            ), ("Tree head", report.treeHead.size.counted("event")),
            ("Root hash", "<code>\(report.treeHead.root.hex)</code>"),
        ]
        if let hold {
            let actor = hold.shownActor.map { HTMLText.isolated($0) } ?? "nobody named"
            let words = "since \(HTMLText.time(hold.recordedAt)), by \(actor), event \(hold.seq)"
            facts.insert(("Legal hold", words), at: 0)
        }
        let counts: [(String, String)] = [
            ("Events", AuditTotals.words(totals.kinds)), ("Actors", AuditTotals.words(totals.actors)),
            ("Devices", AuditTotals.words(totals.devices)),
        ].filter { !$0.1.isEmpty }
        var signed: [String] = []
        if let checkpoint {
            // Its lines are what was signed.
            let lines = checkpoint.split(separator: "\n", omittingEmptySubsequences: false)
            let note = lines.map { HTMLText.escaped(String($0)) }.joined(separator: "\n")
            signed = ["<dt>Signed tree head</dt><dd><pre>\(note)</pre></dd>"]
        }
        return ["<dl>"] + (facts + counts).map { "<dt>\($0.0)</dt><dd>\($0.1)</dd>" } + signed + [
            "</dl>",
            "<p class=\"note\">The tree head binds this report to the log: an auditor who has kept it, or a later one, can "
                + "prove that no event shown here was changed, dropped, added or moved since. Times are UTC; the log's order "
                + "is that of its numbers. Texts of more than \(Self.longestText) characters end with … here; "
                + "<code>traylog audit --json</code> has all of them.</p>",
        ]
    }

    private static func words(_ unread: Int, _ unseen: Int, _ total: Int) -> String {
        "\(unread.grouped) unread, \(unseen.grouped) unseen, \(total.grouped) listed"
    }

    /// Ways to the other pages.
    private var pageLinks: [String] {
        guard names.count > 1 else { return [] }
        let links = names.indices.map { index in
            let file = names[index].split(separator: "/").last.map(String.init) ?? names[index]
            return index == number
                ? "<span aria-current=\"page\">\(index + 1)</span>"
                : "<a href=\"\(HTMLText.escaped(file))\">\(index + 1)</a>"
        }
        return ["<nav aria-label=\"Pages\">Page " + links.joined(separator: " ") + "</nav>"]
    }

    /// A box for each kind hides its rows, with styles alone.
    private var filters: [String] {
        let kinds = EventKind.allCases.filter { totals.kinds[$0.title] != nil }
        guard kinds.count > 1 else { return [] }
        let boxes = kinds.map { kind in
            "<label><input type=\"checkbox\" id=\"k-\(kind.rawValue)\" checked=\"\"> \(kind.title)</label>"
        }
        let rules = kinds.map { "body:has(#k-\($0.rawValue):not(:checked)) tr.k-\($0.rawValue){display:none}" }
        return ["<fieldset><legend>Show</legend>\(boxes.joined(separator: " "))</fieldset>", "<style>"] + rules + [
            "</style>"
        ]
    }

    private static let columns = [
        "Event", "Recorded", "Occurred", "Actor", "Device", "What happened", "Unread", "Unseen",
    ]

    private var tableHead: [String] {
        [
            "<h2 id=\"events\">Events</h2>", "<table class=\"events\">",
            "<caption>What happened, oldest first, and what it changed</caption>",
            "<thead><tr>" + Self.columns.map { "<th scope=\"col\">\($0)</th>" }.joined() + "</tr></thead>", "<tbody>",
        ]
    }

    private func row(_ entry: AuditEntry) -> String {
        let (event, step) = (entry.event, entry.step)
        var what = HTMLText.summary(event, longestText: Self.longestText)
        if let tray = step.tray { what += Self.details("Tray after event \(event.seq)", Self.words(tray)) }
        if let proof = entry.proof { what += Self.details("Proof of event \(event.seq)", Self.words(proof)) }
        let cells = [
            HTMLText.time(event.recordedAt), HTMLText.time(event.occurredAt), Self.text(event.shownActor),
            Self.text(event.device), what,
        ]
        let named = zip(Self.columns.dropFirst(), cells).map { "<td data-name=\"\($0)\">\($1)</td>" }
        return "<tr id=\"event-\(event.seq)\" class=\"k-\(event.kind.rawValue)\"><th scope=\"row\">\(event.seq)</th>"
            + named.joined() + Self.change("Unread", step.before.unread, step.after.unread)
            + Self.change("Unseen", step.before.unseen, step.after.unseen) + "</tr>"
    }

    private static func text(_ text: String?) -> String {
        guard let text, !text.isEmpty else { return "" }
        return HTMLText.isolated(text.truncated(to: longestText))
    }

    private static func change(_ name: String, _ before: Int, _ after: Int) -> String {
        guard before != after else { return "<td data-name=\"\(name)\" class=\"same\">\(after.grouped)</td>" }
        return "<td data-name=\"\(name)\" class=\"change\">\(before.grouped)&nbsp;→&nbsp;\(after.grouped)</td>"
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
            ? "Each proof lists the leaf's position and the sibling hashes up to the root (RFC 9162, 2.1.3)."
            : "Proofs were left out of this report."
        // On paper it stands at the end of each sheet.
        let sheetFoot =
            "<tfoot><tr><td colspan=\"\(Self.columns.count)\">Audit of \(HTMLText.isolated(report.user)), root hash "
            + "\(report.treeHead.root.hex)</td></tr></tfoot>"
        return ["</tbody>", sheetFoot, "</table>"] + pageLinks + [
            "<p class=\"note\">\(proofs)</p>", "</main>", "</body>", "</html>",
        ]
    }

    private static let style = [
        ":root{color-scheme:light dark;--ink:#1b1b1f;--paper:#fff;--soft:#5b5b66;--rule:#d5d5dd;--mark:#0b57d0}",
        "@media(prefers-color-scheme:dark){:root{--ink:#ececf1;--paper:#17171b;--soft:#a9a9b6;--rule:#3a3a44;--mark:#8ab4f8}}",
        ".raw{color:var(--soft);font-size:.85em;margin-right:.5rem}h1,dd{overflow-wrap:anywhere}",
        "body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}",
        "main{max-width:80rem;margin:0 auto;padding:1.5rem}",
        "h1{font-size:1.6rem;margin:0 0 1rem}h2{font-size:1.2rem;margin:2rem 0 .5rem}",
        "dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1.5rem;margin:0}dt{color:var(--soft)}dd{margin:0}",
        ".verdict{font-size:1.15rem;margin:0 0 1rem;max-width:46rem}",
        "code{font:.8em ui-monospace,monospace;overflow-wrap:anywhere}.note,caption,figcaption{color:var(--soft);font-size:.9rem}",
        "figure{margin:0}svg{width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:var(--soft)}",
        ".axis{fill:none;stroke:var(--rule)}.line{fill:none;stroke:var(--mark);stroke-width:2;stroke-linejoin:round}.unseen{stroke:var(--soft);stroke-dasharray:4 3}",
        "table{width:100%;border-collapse:collapse;font-size:.9rem}caption{text-align:left;padding-bottom:.5rem}",
        "th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid var(--rule)}",
        // Widths that do not depend on the rows: a page of thousands is laid out at once.
        ".events{table-layout:fixed}.events th:nth-child(1){width:5.5em}.events th:nth-child(2),.events th:nth-child(3){width:11em}",
        ".events th:nth-child(4){width:8em}.events th:nth-child(5){width:5.5em}.events th:nth-child(n+7){width:8em}",
        "details:not([open]){display:inline-block}td bdi{margin-right:.75rem}td{overflow-wrap:anywhere}thead th{position:sticky;top:0;background:var(--paper)}time{white-space:nowrap}",
        "tbody th,.same,.change{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}",
        "thead th:nth-child(n+7),thead th:first-child{text-align:right}tbody th{font-weight:normal}.same{color:var(--soft)}.change{font-weight:bold}summary{cursor:pointer;color:var(--mark)}",
        ".skip{position:absolute;left:-100rem}.skip:focus{left:1rem;top:1rem;background:var(--paper);padding:.5rem}",
        "nav,fieldset{margin:1rem 0;border:0;padding:0}nav a,nav span,label{margin-right:.5rem;display:inline-block}a{color:var(--mark)}tfoot{display:none}pre{margin:0;font:.8em ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}",
        // Fingers need room: boxes and links of 24 px.
        "label,nav a,nav span{min-height:24px;line-height:24px;min-width:24px}input{width:1.5rem;height:1.5rem;margin:0 .25rem 0 0;vertical-align:middle}summary{min-height:24px}",
        "@media screen and (max-width:64rem){main{padding:1rem}svg text{font-size:22px}",
        "table,tbody,tr,td,tbody th,caption{display:block}thead{position:absolute;left:-100rem}tr{padding:.5rem 0;border-bottom:1px solid var(--rule)}",
        "td,tbody th{border:0;padding:.1rem 0;text-align:left}td:empty{display:none}td::before{content:attr(data-name) ': ';color:var(--soft)}tbody th{font-weight:bold}tbody th::before{content:'Event '}.same,.change{text-align:left;display:inline-block;margin-right:1.5rem}details:not([open]){display:block}}",
        "@media screen and (max-width:40rem){svg text{font-size:30px}dl{grid-template-columns:1fr}dt{margin-top:.4rem}}",
        "@page{margin:12mm 10mm}",
        "@media print{:root{--ink:#000;--paper:#fff;--soft:#444;--rule:#bbb;--mark:#000}main{max-width:none;padding:0}",
        "thead{display:table-header-group}thead th{position:static}tr{break-inside:avoid}body{font-size:9pt;line-height:1.35}",
        "h1{font-size:14pt;margin:0 0 4pt}h2{font-size:11pt;margin:8pt 0 2pt}dl{gap:0 8pt}figure{max-width:150mm}",
        // One line for most rows: each column has its share, and only long texts wrap.
        "table{table-layout:fixed;font-size:7pt;line-height:1.25}th,td{padding:1pt 2pt}.events th:nth-child(1){width:6%}.events th:nth-child(2),.events th:nth-child(3){width:14.5%}",
        ".events th:nth-child(4){width:9%}.events th:nth-child(5){width:6%}.events th:nth-child(n+7){width:11.5%}details,nav,fieldset,.skip{display:none}",
        ".note,caption,figcaption{font-size:8pt}tfoot bdi{margin:0}tfoot{display:table-footer-group}tfoot td{border:0;font-size:7pt;color:var(--soft)}}",
    ]
}
