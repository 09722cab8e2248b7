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
            occurredAt: maybe { $0.time() }, actor: maybe { $0.identifier() }, device: maybe { $0.identifier() },
            expectedRevision: maybe { UInt64.random(in: 0...UInt64.max, using: &$0.generator) })
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
            let threads: [ItemFilter.Thread] = [.any, .unthreaded, .named(identifier())]
            let filter = ItemFilter(
                thread: threads.randomElement(using: &generator)!, category: maybe { $0.identifier() })
            return .markAll(
                BulkMark.allCases.randomElement(using: &generator)!, filter, upTo: maybe { $0.seq() })
        case .mute: return .mute(scope(), until: maybe { $0.time() })
        case .unmute: return .unmute(scope())
        case .snooze: return .snooze(item(), until: time())
        case .wake: return .wake(item())
        case .edit: return .edit(item(), edit())
        case .retract: return .retract(item())
        case .subscribe: return .subscribe(topic: identifier())
        case .unsubscribe: return .unsubscribe(topic: identifier())
        case .undo: return .undo(event: seq())
        case .act: return .act(item(), action: "a\(seq())", note: maybe { $0.text() }, asOf: maybe { $0.seq() })
        case .erase: preconditionFailure("an erasure is no command")
        }
    }

    mutating func content(collapsing: Bool) -> Content {
        var content = anyContent(collapsing: collapsing)
        if let notBefore = content.notBefore {
            if let time = content.expiresAt, time <= notBefore { content.expiresAt = nil }
            if let time = content.remindAt, time <= notBefore { content.remindAt = nil }
        }
        return content
    }

    private mutating func anyContent(collapsing: Bool) -> Content {
        Content(
            thread: maybe { $0.identifier() }, category: maybe { $0.identifier() }, title: maybe { $0.text() },
            body: maybe { $0.text() }, summaryArgument: maybe { $0.identifier() },
            summaryCount: maybe { UInt32.random(in: 0...UInt32.max, using: &$0.generator) } ?? 1,
            isSilent: Bool.random(using: &generator),
            level: InterruptionLevel.allCases.randomElement(using: &generator)!, expiresAt: maybe { $0.time() },
            remindAt: maybe { $0.time() }, notBefore: maybe { $0.time() },
            collapseKey: collapsing ? maybe { $0.identifier() } : nil,
            actions: (0..<Int.random(in: 0...3, using: &generator)).map {
                ItemAction(id: "a\($0)", label: "L\"\($0)é")
            },
            data: maybe { $0.data() })
    }

    mutating func edit() -> ContentEdit {
        var edit = ContentEdit()
        edit.title = change { $0.text() }
        edit.body = change { $0.text() }
        edit.summaryArgument = change { $0.identifier() }
        edit.summaryCount = change { UInt32.random(in: 0...UInt32.max, using: &$0.generator) }
        edit.level = change { InterruptionLevel.allCases.randomElement(using: &$0.generator)! }
        edit.expiresAt = .set(time())
        edit.remindAt = change { $0.time() }
        if let time = maybe({ $0.time() }) { edit.notBefore = .set(time) }
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
        [.thread(identifier()), .category(identifier()), .topic(identifier()), .all].randomElement(using: &generator)!
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

    /// Any JSON value as text, with white space, escapes, long numbers and repeated names.
    mutating func data() -> String {
        // A line of JSON cannot distinguish space around a value from the value's own.
        String(data(depth: 0).drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }

    private mutating func data(depth: Int) -> String {
        let space = [" ", "", "", "\t"].randomElement(using: &generator)!
        switch Int.random(in: depth < 4 ? 0..<9 : 0..<6, using: &generator) {
        case 0, 1: return space + jsonNumber()
        case 2, 3: return jsonString() + space
        case 4, 5: return ["null", "true", "false"].randomElement(using: &generator)!
        case 6: return "[" + list { $0.data(depth: depth + 1) } + space + "]"
        default: return "{" + space + list { "\($0.jsonString()):\(space)\($0.data(depth: depth + 1))" } + "}"
        }
    }

    private mutating func list(_ element: (inout RandomCommands) -> String) -> String {
        (0..<Int.random(in: 0...4, using: &generator)).map { _ in element(&self) }.joined(separator: ",")
    }

    private mutating func jsonString() -> String {
        [
            "\"\"", "\"a\"", "\"b\"", "\"\\u0061\"", "\"\\u00e9é\"", "\"\\/\"", "\"\\ud83d\\ude00\"", "\"dataText\"",
            "\"data\"",
        ]
        .randomElement(using: &generator)!
    }

    mutating func jsonNumber() -> String {
        func digits(_ counts: ClosedRange<Int>) -> String {
            (0..<Int.random(in: counts, using: &generator)).map { _ in "0123456789".randomElement(using: &generator)! }
                .reduce(into: "") { $0.append($1) }
        }
        let whole = ["0", "1", "1\(digits(0...5))", "9\(digits(0...45))"].randomElement(using: &generator)!
        let fraction = ["", "", ".0", ".5", ".\(digits(1...30))"].randomElement(using: &generator)!
        let power = ["", "", "e0", "E+2", "e-03", "e\(digits(1...3))"].randomElement(using: &generator)!
        return (Bool.random(using: &generator) ? "-" : "") + whole + fraction + power
    }

    /// The same JSON value in another spelling: members in another order, other white space, numbers and escapes.
    ///
    /// - Parameter numbers: false to leave those as an encoder writes them.
    mutating func rewritten(_ text: String, numbers: Bool = true) -> String {
        guard let tree = try? JSONTree(text.utf8Span.span) else { return text }
        return rewritten(tree, numbers)
    }

    private mutating func rewritten(_ tree: JSONTree, _ numbers: Bool) -> String {
        let space = ["", " ", "\r\n"].randomElement(using: &generator)!
        switch tree {
        case .array(let elements):
            return "[" + elements.map { rewritten($0, numbers) + space }.joined(separator: ",") + "]"
        case .object(let members):
            var order: [String: UInt64] = [:]
            for member in members { order[member.name] = generator.next() }
            // Members of one name stay in their order.
            let shuffled = members.enumerated().sorted { left, right in
                (order[left.element.name]!, left.offset) < (order[right.element.name]!, right.offset)
            }
            return "{"
                + shuffled.map { escaped($0.element.name) + space + ":" + rewritten($0.element.value, numbers) }
                .joined(separator: ",") + space + "}"
        case .string(let text): return escaped(text)
        case .integer(let integer) where numbers:
            return "\(integer)" + ["", ".0", "e0", ".00E+0"].randomElement(using: &generator)!
        default: return String(decoding: tree.text, as: UTF8.self)
        }
    }

    private mutating func escaped(_ text: String) -> String {
        let escapes = Bool.random(using: &generator)
        return "\""
            + text.utf16.map { unit in
                let isPlain = !escapes && unit < 0x80 && unit >= 0x20 && unit != 0x22 && unit != 0x5c
                let hex = String(unit, radix: 16)
                return isPlain
                    ? String(Unicode.Scalar(UInt8(unit))) : "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            }.joined() + "\""
    }
}
