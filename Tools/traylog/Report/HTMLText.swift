import TerminalText
@_spi(Operations) import Traylog

/// Text in a page, wherever it came from.
enum HTMLText {
    /// Escapes markup, and characters that hide or reorder the text beside them.
    static func escaped(_ text: String) -> String { VisibleText(text).html }

    /// Escapes text from outside, and isolates its writing direction.
    static func isolated(_ text: String) -> String { "<bdi>\(escaped(text))</bdi>" }

    /// What happened, with the raw kind behind it.
    static func summary(_ event: Event, longestText: Int) -> String {
        let summary = EventSummary(event) { time($0, isMarked: false) }
        let detail = summary.detail.isEmpty ? "" : " \(isolated(summary.detail.truncated(to: longestText)))"
        return "<strong>\(escaped(summary.title))</strong>\(detail) <span class=\"raw\">\(event.kind.rawValue)</span>"
    }

    /// A time, to the second.
    static func time(_ time: Timestamp?, isMarked: Bool = true) -> String {
        guard let time else { return "" }
        let text = time.description
        // 2026-11-21T12:16:10.123Z
        let words = text.count == 24 ? String(text.prefix(19)).replacing("T", with: " ") : text
        guard isMarked else { return "\(words) UTC" }
        return "<time datetime=\"\(text)\">\(words)</time>"
    }
}
