import ArgumentParser
@_spi(Operations) @_spi(Wire) import Traylog

/// How long items of a category may stay: `promotion=30`.
struct Retention: ExpressibleByArgument {
    let category: String
    let days: Int
    /// Further back than any time that a command may name.
    static let mostDays = 1_000_000

    init?(argument: String) {
        guard let sign = argument.lastIndex(of: "="), sign > argument.startIndex,
            let days = WireNumber(argument[argument.index(after: sign)...])?.within(0...Self.mostDays)
        else { return nil }
        (category, self.days) = (String(argument[..<sign]), days)
    }
}

/// Takes back the items that are older than their category may get, as their publisher would, so that the next compaction
/// beyond that drops them.
struct RetentionRun {
    /// The actor of the events, without another one.
    static let actor = "retention"
    private static let size = 1_000

    let store: BlockingStore
    let actor: String
    let isDryRun: Bool

    /// - Returns: how many items were, or would be, taken back. Those of held users stay.
    func run(_ rule: Retention) throws(TraylogError) -> UInt64 {
        var filter = EventFilter()
        filter.category = rule.category
        filter.kinds = [.notified, .broadcast]
        if case .time(let time) = Moment.daysAgo(rule.days) { filter.until = time }
        let head = try store.head()
        var (count, held): (UInt64, [String: Bool]) = (0, [:])
        var next: Seq? = 1
        while let from = next, from <= head {
            let page = try store.events(matching: filter, from: from, limit: Self.size)
            var commands: [Command] = []
            for event in page.elements {
                if let user = event.user {
                    if held[user] == nil { held[user] = try store.isHeld(user) }
                    guard held[user] == false, try isThere(event.seq, of: user) else { continue }
                }
                commands.append(
                    Command(user: event.user, .retract(.seq(event.seq)), actor: actor))
            }
            count += isDryRun ? UInt64(commands.count) : try retracted(commands)
            next = page.next
        }
        return count
    }

    private func isThere(_ item: Seq, of user: String) throws(TraylogError) -> Bool {
        do {
            return try !store.item(.seq(item), of: user).isGone
        } catch .refused {
            // It left the log, or is one of an erased person.
            return false
        }
    }

    /// A broadcast may be gone already: that is a refusal, and counts nothing.
    private func retracted(_ commands: [Command]) throws(TraylogError) -> UInt64 {
        guard !commands.isEmpty else { return 0 }
        return try store.perform(commands, mode: .each).reduce(0) { count, result in
            if case .success(.appended) = result { count + 1 } else { count }
        }
    }
}
