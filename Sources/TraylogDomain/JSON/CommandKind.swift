/// The kinds of command, as JSON and the command line name them.
package enum CommandKind: UInt8, Hashable, Sendable, CaseIterable {
    case notify, seeTray, mark, markAll, mute, unmute, snooze, wake, edit, retract
    case subscribe, unsubscribe, broadcast, undo, erase
}

extension CommandKind {
    package var name: String { "\(self)" }

    package init?(name: String) {
        guard let kind = CommandKind.names.value(name) else { return nil }
        self = kind
    }

    static let names = NameTable(allCases) { $0.name }
}

extension Command {
    package var kind: CommandKind {
        switch action {
        case .notify: .notify
        case .seeTray: .seeTray
        case .mark: .mark
        case .markAll: .markAll
        case .mute: .mute
        case .unmute: .unmute
        case .snooze: .snooze
        case .wake: .wake
        case .edit: .edit
        case .retract: .retract
        case .subscribe: .subscribe
        case .unsubscribe: .unsubscribe
        case .broadcast: .broadcast
        case .undo: .undo
        case .erase: .erase
        }
    }
}
