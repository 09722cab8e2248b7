import TraylogDomain

/// A mark made through a fetcher, which its items show before the store has it.
enum PendingMark: Hashable, Sendable {
    case read(Seq)
    /// Every item at or below the position.
    case allRead(upTo: Seq)
    case deleted(Seq)

    func command(of user: String) -> Command {
        switch self {
        case .read(let item): Command(user: user, .mark(.read, [.seq(item)]))
        case .allRead(let position): Command(user: user, .markAll(.read, Selection(upTo: position)))
        case .deleted(let item): Command(user: user, .mark(.deleted, [.seq(item)]))
        }
    }

    func apply(to items: inout [Item]) {
        switch self {
        case .read(let item): Self.read(&items) { $0.seq == item }
        case .allRead(let position): Self.read(&items) { $0.position <= position }
        case .deleted(let item): items.removeAll { $0.seq == item }
        }
    }

    /// What is read is also seen.
    private static func read(_ items: inout [Item], where isMeant: (Item) -> Bool) {
        for index in items.indices where isMeant(items[index]) {
            items[index].read = true
            items[index].seen = true
        }
    }
}
