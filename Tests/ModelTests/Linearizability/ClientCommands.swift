import TestSupport
import TraylogDomain

/// What one client of many wants: all kinds of commands, on few users, keys and items, so that clients meet.
struct ClientCommands {
    static let users = ["ann", "bob", "cy"]
    private(set) var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func user() -> String { random.pick(Self.users) }

    /// One command, or a transaction of a few.
    mutating func next() -> [Command] {
        (0..<(random.chance(15) ? random.between(2, 5) : 1)).map { _ in command() }
    }

    private mutating func command() -> Command {
        if random.chance(8) {
            return Command(
                user: nil, .broadcast(topic: "news", Content(category: "c1", title: "News")), key: maybeKey())
        }
        if random.chance(4) { return Command(user: nil, .retract(item())) }
        return Command(user: user(), action(), key: maybeKey())
    }

    private mutating func action() -> Command.Action {
        switch random.below(20) {
        case 0...6: .notify(content())
        case 7: .seeTray()
        case 8: .seeTray(upTo: seq())
        case 9: .mark(random.pick(Array(Mark.allCases)), [item(), item()])
        case 10: .markAll(random.pick(Array(BulkMark.allCases)), ItemFilter(category: random.pick([nil, "c1"])))
        case 11: .mute(.thread("t1"))
        case 12: .unmute(.thread("t1"))
        case 13, 14: .snooze(item(), until: Timestamp(milliseconds: 4_000_000_000_000))
        case 15: random.chance(40) ? .wake(item()) : answer()
        case 16: .edit(item(), edit())
        case 17: .subscribe(topic: "news")
        case 18: random.chance(30) ? .unsubscribe(topic: "news") : .retract(item())
        default: .undo(event: seq())
        }
    }

    private mutating func answer() -> Command.Action {
        .act(item(), action: random.pick(["yes", "no"]), asOf: random.chance(50) ? seq() : nil)
    }

    private mutating func content() -> Content {
        var content = Content(title: "T\(random.below(1_000))")
        content.thread = random.pick([nil, "t1", "t2"])
        content.category = random.pick([nil, "c1", "c2"])
        content.collapseKey = random.pick([nil, nil, "x"])
        content.isSilent = random.chance(10)
        if random.chance(40) {
            content.actions = [ItemAction(id: "yes", label: "Yes"), ItemAction(id: "no", label: "No")]
        }
        return content
    }

    private mutating func edit() -> ContentEdit {
        var edit = ContentEdit()
        edit.title = .set("E\(random.below(3))")
        return edit
    }

    private mutating func maybeKey() -> String? { random.chance(30) ? "k\(random.below(40))" : nil }
    private mutating func seq() -> Seq { Seq(UInt64(random.between(1, 120))) }
    private mutating func item() -> ItemReference { random.chance(50) ? .key("k\(random.below(40))") : .seq(seq()) }
}
