import TraylogDomain

extension [Command] {
    /// The commands in parts whose events surely fit into a group of so many bytes each.
    package func inGroups(of limit: Int) -> [[Command]] {
        guard !isEmpty else { return [] }
        var groups: [[Command]] = [[]]
        var room = limit
        for command in self {
            let bytes = command.largestEventBytes
            if bytes > room, !groups[groups.count - 1].isEmpty {
                groups.append([])
                room = limit
            }
            room -= bytes
            groups[groups.count - 1].append(command)
        }
        return groups
    }
}

extension Command {
    /// The bytes of its event at most.
    var largestEventBytes: Int {
        // Header, times, numbers, and the tags of fields.
        var bytes = 256
        for name in [user, key, actor, device] { bytes += name?.utf8.count ?? 0 }
        switch action {
        case .notify(let content): bytes += content.textBytes
        case .broadcast(let topic, let content): bytes += topic.utf8.count + content.textBytes
        case .edit(_, let edit):
            for text in [edit.title, edit.body, edit.summaryArgument, edit.data] {
                if case .set(let text) = text { bytes += text.utf8.count }
            }
        case .mark(_, let items): bytes += 10 * items.count
        // A name or two.
        default: bytes += 2 * Limits.identifierBytes
        }
        return bytes
    }
}

extension Content {
    fileprivate var textBytes: Int {
        let texts = [thread, category, title, body, summaryArgument, collapseKey, data]
        return texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
            + actions.reduce(0) { $0 + $1.id.utf8.count + $1.label.utf8.count + 16 }
    }
}
