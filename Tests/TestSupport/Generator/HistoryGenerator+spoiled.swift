import TraylogDomain

extension HistoryGenerator {
    /// The command with exactly one field made wrong.
    mutating func spoiled(_ command: Command) -> Command {
        let bad = random.pick(["", String(repeating: "x", count: 257), "tab\t", "\u{7f}", "c1 \u{85}", "nul\0"])
        var command = command
        switch random.below(6) {
        case 0: command.key = bad
        case 1: command.actor = bad
        case 2: command.device = bad
        case 3: spoilUser(&command, bad)
        default: spoilAction(&command, bad)
        }
        return command
    }

    private mutating func spoilUser(_ command: inout Command, _ bad: String) {
        switch (command.action, command.user) {
        case (.broadcast, _): command.user = users[0]
        case (_, nil): command.key = bad
        case (.edit, _), (.retract, _): command.user = bad
        default: command.user = random.chance(50) ? nil : bad
        }
    }

    private mutating func spoilAction(_ command: inout Command, _ bad: String) {
        switch command.action {
        case .notify(var content):
            spoil(&content, bad)
            command.action = .notify(content)
        case .broadcast(let topic, var content):
            if random.chance(30) { content.collapseKey = "any" } else { spoil(&content, bad) }
            command.action = random.chance(20) ? .broadcast(topic: bad, Content()) : .broadcast(topic: topic, content)
        case .mark(let mark, let references):
            let many = Array(repeating: references[0], count: 1_001)
            command.action = .mark(mark, random.pick([[], many, references.prefix(999) + [.key(bad)]]))
        case .markAll(let mark, var filter, let upTo):
            if random.chance(50) { filter.category = bad } else { filter.thread = .named(bad) }
            command.action = .markAll(mark, filter, upTo: upTo)
        case .mute: command.action = .mute(random.chance(50) ? .thread(bad) : .category(bad))
        case .unmute: command.action = .unmute(random.chance(50) ? .thread(bad) : .category(bad))
        case .edit(let reference, var edit):
            if random.chance(50) { edit.summaryArgument = .set(bad) } else { edit.data = .set("{\"open\":") }
            command.action = random.chance(30) ? .edit(.key(bad), ContentEdit()) : .edit(reference, edit)
        case .retract: command.action = .retract(.key(bad))
        case .snooze(_, let until): command.action = .snooze(.key(bad), until: until)
        case .wake: command.action = .wake(.key(bad))
        case .subscribe: command.action = .subscribe(topic: bad)
        case .unsubscribe: command.action = .unsubscribe(topic: bad)
        case .act(let reference, let action, _, _):
            switch random.below(3) {
            case 0: command.action = .act(.key(bad), action: action)
            case 1: command.action = .act(reference, action: random.pick([bad, String(repeating: "x", count: 65)]))
            default: command.action = .act(reference, action: action, note: String(repeating: "n", count: 1_025))
            }
        case .seeTray, .undo: command.key = bad
        }
    }

    private mutating func spoiledActions(_ bad: String) -> [ItemAction] {
        let good = ItemAction(id: "a", label: "A")
        return random.pick([
            [ItemAction(id: bad, label: "B")], [good, good], [ItemAction(id: "a", label: "")],
            [ItemAction(id: "a", label: String(repeating: "l", count: 129))],
            [good, ItemAction(id: String(repeating: "i", count: 65), label: "I")],
            (0..<9).map { ItemAction(id: "\($0)", label: "N") },
        ])
    }

    private mutating func spoil(_ content: inout Content, _ bad: String) {
        switch random.below(9) {
        case 8: content.actions = spoiledActions(bad)
        case 0: content.thread = bad
        case 1: content.category = bad
        case 2: content.summaryArgument = bad
        case 3: content.collapseKey = bad
        case 4: content.title = String(repeating: "é", count: 512) + "!"
        case 5: content.body = String(repeating: "b", count: 16 * 1_024 + 1)
        case 6: content.data = "\"" + String(repeating: "d", count: 64 * 1_024 - 1) + "\""
        default: content.data = random.pick(["{", "", "[1,]x", "{\"a\" 1}", "nul"])
        }
    }
}
