import TerminalText
@_spi(Operations) import Traylog

/// How many events of a report are of each kind, by whom, and from where.
struct AuditTotals {
    private(set) var kinds: [String: Int] = [:]
    private(set) var actors: [String: Int] = [:]
    private(set) var devices: [String: Int] = [:]
    private static let shown = 8

    mutating func add(_ event: Event) {
        kinds[event.kind.title, default: 0] += 1
        if let actor = event.shownActor { actors[actor, default: 0] += 1 }
        if let device = event.device { devices[device, default: 0] += 1 }
    }

    /// Those with most, as a list.
    static func words(_ counts: [String: Int]) -> String {
        let sorted = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        let words = sorted.prefix(shown).map { "\(HTMLText.isolated($0.key.truncated(to: 60))) \($0.value.grouped)" }
        let rest = sorted.count - words.count
        return (words + (rest > 0 ? ["and \(rest.grouped) more"] : [])).joined(separator: ", ")
    }
}
