import TestSupport

@testable import TraylogDomain

/// Random commands of one user, and sometimes of another, that depend only on the seed.
struct TrayHistory {
    static let user = "ann"
    // The last two of each look the same, but are different strings.
    static let threads = ["t0", "t1", "t2", "t3", "t4", "caf\u{e9}", "cafe\u{301}"]
    static let categories = ["message", "mail", "build", "caf\u{e9}", "cafe\u{301}"]
    static let arguments = ["Ann", "Bob", "Cem", "Dot", "Zo\u{eb}", "Zoe\u{308}"]

    var random: SeededRandom
    let mix: TrayMix
    /// Seqs of the user's items, oldest first.
    var items: [UInt64] = []
    private var keyed: [Command] = []
    private var count = 0

    init(seed: UInt64, mix: TrayMix) {
        random = SeededRandom(seed: seed)
        self.mix = mix
    }

    mutating func next(head: UInt64) -> Command {
        count += 1
        if random.below(100) < mix.others { return Command(user: "bob", .notify(Content(title: "\(count)"))) }
        let action = action(head: head)
        if case .notify(let content) = action, content.title == nil, let command = again() { return command }
        var command = Command(user: Self.user, action)
        if random.chance(mix.keyed) {
            command.key = "key \(count)"
            keyed.append(command)
        }
        return command
    }

    private mutating func action(head: UInt64) -> Command.Action {
        let kinds: [(Int, Int)] = [
            (0, mix.notify), (1, mix.mark), (2, mix.markAll), (3, mix.see), (4, mix.mute), (5, mix.edit),
            (6, mix.retract), (7, mix.again),
        ]
        switch random.pick(weighted: kinds) {
        case 1 where random.chance(20):
            return .act(
                reference(), action: random.pick(["yes", "no", "maybe"]), note: random.chance(30) ? "note" : nil,
                asOf: random.chance(30) ? Seq(UInt64(random.between(0, Int(head)))) : nil)
        case 1: return .mark(random.pick(Array(Mark.allCases)), (0..<random.between(1, 6)).map { _ in reference() })
        case 2: return markAll(head: head)
        case 3: return .seeTray(upTo: upTo(head: head))
        case 4: return random.chance(50) ? .mute(scope()) : .unmute(scope())
        case 5: return .edit(reference(), edit())
        case 6: return .retract(reference())
        case 7: return .notify(Content())
        default: return .notify(content())
        }
    }

    /// An earlier command with its key, or another one with that key.
    private mutating func again() -> Command? {
        guard !keyed.isEmpty else { return nil }
        var command = random.pick(keyed)
        if random.chance(30) { command.device = "another" }
        return command
    }

    private mutating func content() -> Content {
        Content(
            thread: mix.isWide ? "thread \(count)" : random.chance(70) ? random.pick(Self.threads) : nil,
            category: random.chance(mix.isWide ? 90 : 70) ? category() : nil, title: "title \(count)",
            summaryArgument: mix.isWide ? "name \(count)" : random.chance(60) ? random.pick(Self.arguments) : nil,
            summaryCount: random.pick([0, 1, 1, 1, 3, .max]), isSilent: random.chance(8),
            level: random.chance(15) ? .critical : .active,
            remindAt: random.chance(10) ? Timestamp(milliseconds: Int64(count)) : nil,
            collapseKey: random.chance(mix.collapsing) ? "collapse \(random.below(mix.collapsing * 2))" : nil,
            actions: random.chance(30) ? Self.actions : [])
    }

    private static let actions = [ItemAction(id: "yes", label: "Yes"), ItemAction(id: "no", label: "No")]

    private mutating func edit() -> ContentEdit {
        var edit = ContentEdit()
        if random.chance(50) { edit.title = .set("edited \(count)") }
        if random.chance(40) { edit.summaryArgument = random.chance(30) ? .clear : .set(random.pick(Self.arguments)) }
        if random.chance(40) { edit.summaryCount = random.chance(30) ? .clear : .set(UInt32(random.below(9))) }
        if random.chance(30) { edit.body = .set("body \(count)") }
        if random.chance(30) { edit.level = .set(random.pick([.passive, .critical])) }
        if random.chance(20) { edit.data = random.chance(30) ? .clear : .set("[\(count)]") }
        if random.chance(10) {
            edit.remindAt = random.chance(30) ? .clear : .set(Timestamp(milliseconds: Int64(count)))
        }
        if edit.fields.isEmpty { edit.expiresAt = .set(Timestamp(milliseconds: Int64(count))) }
        return edit
    }

    private mutating func markAll(head: UInt64) -> Command.Action {
        let upTo = upTo(head: head)
        var selected = ItemFilter()
        if !random.chance(mix.unfilteredMarks) {
            let filter = random.below(5)
            if filter != 0 { selected.category = category() }
            if filter == 0 || filter == 3 { selected.thread = .named(random.pick(Self.threads)) }
            if filter == 4 { selected.thread = .unthreaded }
        }
        return .markAll(
            random.pick(weighted: [(.seen, 3), (.read, 3), (.archived, 1), (.deleted, 1)]), selected, upTo: upTo)
    }

    /// The head, nothing, an old or a new item, anything, or beyond the head.
    private mutating func upTo(head: UInt64) -> Seq? {
        switch random.below(20) {
        case 0: return 0
        case 1: return Seq(head + 1)
        case 2...3: return Seq(UInt64(random.below(Int(head) + 1)))
        case 4...10 where !items.isEmpty: return Seq(random.pick(items))
        case 11...13 where !items.isEmpty: return Seq(items[max(0, items.count - 1 - random.below(40))])
        default: return nil
        }
    }

    /// An old or new item, by seq or by key; rarely one that never existed.
    private mutating func reference() -> ItemReference {
        if random.chance(2) { return .key("no such key") }
        if random.chance(20), !keyed.isEmpty, let key = random.pick(keyed).key { return .key(key) }
        guard !items.isEmpty, !random.chance(1) else { return .seq(Seq(UInt64(random.below(50)))) }
        let isRecent = random.chance(40)
        return .seq(Seq(isRecent ? items[max(0, items.count - 1 - random.below(30))] : random.pick(items)))
    }

    private mutating func category() -> String {
        if mix.isWide, random.chance(90) { return "category \(count)" }
        let more = random.below(Self.categories.count + mix.moreCategories)
        return more < Self.categories.count ? Self.categories[more] : "category \(more)"
    }

    private mutating func scope() -> MuteScope {
        if random.chance(10) { return .all }
        if random.chance(10) { return .topic(random.pick(Self.threads)) }
        return random.chance(50) ? .thread(random.pick(Self.threads)) : .category(random.pick(Self.categories))
    }
}
