/// Emphasis that a terminal can show; what it says is always also said in words.
enum Style: Hashable {
    case plain
    case bold
    case dim
    case warning

    func apply(to text: String, on terminal: Terminal) -> String {
        guard terminal.usesColor, let code, !text.isEmpty else { return text }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }

    private var code: String? {
        switch self {
        case .plain: nil
        case .bold: "1"
        case .dim: "2"
        case .warning: "33"
        }
    }
}
