extension Refusal {
    /// The start of what a caller gave, short enough to be shown in a message.
    package static func excerpt(_ text: String) -> String {
        let limit = 64
        let start = text.unicodeScalars.prefix(limit)
        return start.endIndex == text.unicodeScalars.endIndex ? text : String(start) + "…"
    }
}
