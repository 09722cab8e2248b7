@testable import TraylogDomain
@testable import TraylogJSON

/// Valid commands of every kind, the same ones for the same seed.
struct RandomCommands {
    var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func next() -> Command {
        let kind = CommandKind.allCases.filter { $0 != .erase }.randomElement(using: &generator)!
        let hasUser =
            switch kind {
            case .broadcast: false
            case .edit, .retract: Bool.random(using: &generator)
            default: true
            }
        return Command(
            user: hasUser ? identifier() : nil, action(kind), key: maybe { $0.identifier() },
            occurredAt: maybe { $0.time() }, actor: maybe { $0.identifier() }, device: maybe { $0.identifier() })
    }

    private mutating func action(_ kind: CommandKind) -> Command.Action {
        switch kind {
        case .notify: return .notify(content(collapsing: true))
        case .broadcast: return .broadcast(topic: identifier(), content(collapsing: false))
        case .seeTray: return .seeTray(upTo: maybe { $0.seq() })
        case .mark:
            let count = Int.random(in: 1...5, using: &generator)
            return .mark(Mark.allCases.randomElement(using: &generator)!, (0..<count).map { _ in item() })
        case .markAll:
            let threads: [Selection.Thread] = [.any, .unthreaded, .named(identifier())]
            let selection = Selection(
                thread: threads.randomElement(using: &generator)!, category: maybe { $0.identifier() },
                upTo: maybe { $0.seq() })
            return .markAll(BulkMark.allCases.randomElement(using: &generator)!, selection)
        case .mute: return .mute(scope())
        case .unmute: return .unmute(scope())
        case .snooze: return .snooze(item(), until: time())
        case .wake: return .wake(item())
        case .edit: return .edit(item(), edit())
        case .retract: return .retract(item())
        case .subscribe: return .subscribe(topic: identifier())
        case .unsubscribe: return .unsubscribe(topic: identifier())
        case .undo: return .undo(event: seq())
        case .erase: preconditionFailure("an erasure is no command")
        }
    }

    mutating func content(collapsing: Bool) -> Content {
        Content(
            thread: maybe { $0.identifier() }, category: maybe { $0.identifier() }, title: maybe { $0.text() },
            body: maybe { $0.text() }, summaryArgument: maybe { $0.identifier() },
            summaryCount: maybe { UInt32.random(in: 0...UInt32.max, using: &$0.generator) } ?? 1,
            isSilent: Bool.random(using: &generator),
            level: InterruptionLevel.allCases.randomElement(using: &generator)!, expiresAt: maybe { $0.time() },
            collapseKey: collapsing ? maybe { $0.identifier() } : nil, data: maybe { $0.data() })
    }

    mutating func edit() -> ContentEdit {
        var edit = ContentEdit()
        edit.title = change { $0.text() }
        edit.body = change { $0.text() }
        edit.summaryArgument = change { $0.identifier() }
        edit.summaryCount = change { UInt32.random(in: 0...UInt32.max, using: &$0.generator) }
        edit.level = change { InterruptionLevel.allCases.randomElement(using: &$0.generator)! }
        edit.expiresAt = .set(time())
        edit.data = change { "[\($0.data())]" }
        return edit
    }

    private mutating func change<Value>(_ make: (inout RandomCommands) -> Value) -> Change<Value> {
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: .keep
        case 1: .clear
        default: .set(make(&self))
        }
    }

    mutating func maybe<Value>(_ make: (inout RandomCommands) -> Value) -> Value? {
        Bool.random(using: &generator) ? make(&self) : nil
    }

    mutating func scope() -> MuteScope {
        Bool.random(using: &generator) ? .thread(identifier()) : .category(identifier())
    }

    mutating func item() -> ItemReference {
        Bool.random(using: &generator) ? .seq(seq()) : .key(identifier())
    }

    mutating func seq() -> Seq { Seq(generator.next() >> UInt64.random(in: 0..<64, using: &generator)) }

    mutating func time() -> Timestamp {
        let range = Timestamp.rfc3339Range
        return Timestamp(
            milliseconds: .random(
                in: range.lowerBound.milliseconds...range.upperBound.milliseconds, using: &generator))
    }

    mutating func identifier() -> String {
        let alphabet = Array("abz AZ09\"\\/{}[]:,é中😀\u{a0}\u{2028}\u{301}")
        return string(of: alphabet, 1...20)
    }

    mutating func text() -> String {
        string(of: Array("ab\"\\\n\r\t\u{0}\u{1f}\u{7f}\u{85}é中😀\u{fffd}"), 0...40)
    }

    private mutating func string(of alphabet: [Character], _ counts: ClosedRange<Int>) -> String {
        String((0..<Int.random(in: counts, using: &generator)).map { _ in alphabet.randomElement(using: &generator)! })
    }

    private mutating func data() -> String {
        ["null", "1.50", "[1 ,\t2]", "{\"a\" : {\"b\":\"\\u00e9é\"}}", "\"\\/\"", "-0e5", "true"]
            .randomElement(using: &generator)!
    }
}
