import Foundation
import TestSupport
import Testing

@testable import TraylogDomain
@testable import TraylogJSON

/// `Codable` is the JSON that the program prints, in both directions, for random values.
@Suite struct CodableTests {
    @Test(arguments: seeds(1, nightly: 200))
    func encodedValuesEqualTheirJSONForm(seed: UInt64) throws {
        var random = RandomCommands(seed: seed)
        for _ in 0..<40 {
            try expectForm(random.next(), seed)
            try expectForm(random.shownItem(), seed)
            try expectForm(random.tray(), seed)
            try expectForm(random.group(), seed)
            try expectForm(Page<Item, Cursor>([random.shownItem()], next: Cursor("c1-10"), asOf: 9), seed)
            try expectForm(Page<ThreadGroup, Cursor>([random.group(), random.group()], asOf: 9), seed)
            try expectForm(random.receipt(), seed)
            let mutes = [.all, random.scope(), random.scope()].map {
                Mute(scope: $0, since: random.time(), until: random.maybe { $0.time() })
            }
            try expectForm(Mutes(user: "u", asOf: 9, mutes: mutes), seed)
            try expectForm(ItemAction(id: random.identifier(), label: random.text()), seed)
            try expectForm(random.event(), seed)
            try expectForm(
                ItemLife(user: "u", asOf: 9, item: random.shownItem(), events: [random.event(), random.event()]), seed)
        }
    }

    @Test(arguments: seeds(1, nightly: 200))
    func partsHaveTheFormThatTheyHaveInTheWhole(seed: UInt64) throws {
        var random = RandomCommands(seed: seed)
        for _ in 0..<40 {
            try expectForm(random.next().action, seed)
            try expectForm(random.event().body, seed)
            try expectForm(random.scope(), seed)
            try expectForm(random.audience(), seed)
            try expectForm(random.recipient(), seed)
            try expectForm(
                Page<Recipient, String>([random.recipient()], next: random.maybe { $0.identifier() }, asOf: 9), seed)
            try expectForm(random.query(), seed)
            try expectForm(random.content(collapsing: true), seed)
            try expectForm(random.edit(), seed)
        }
        #expect(try JSONDecoder().decode(InboxQuery.self, from: Data("{}".utf8)) == InboxQuery())
    }

    @Test(arguments: seeds(1, nightly: 200))
    func errorsComeBackFromTheirNameAndDetails(seed: UInt64) throws {
        var random = RandomCommands(seed: seed)
        for _ in 0..<40 {
            let refusals: [Refusal] = [
                .invalid(field: "title", reason: "is longer: \(random.text())"), .unknownItem(random.item()),
                .itemGone(random.seq()), .notSnoozed(random.seq()),
                .alreadyActed(random.seq(), action: random.identifier()),
                .notAnswered(random.seq()), .changedSince(random.seq(), asOf: random.seq(), edited: random.seq()),
                .unknownEvent(random.seq()), .unknownEvent(0),
                .upToBeyondHead(random.seq(), head: random.seq()),
                .upToBeyondHead(random.seq(), head: random.seq(), field: "asOf"),
                .notUndoable(random.seq(), kind: .snoozed), .keyConflict(key: random.identifier(), seq: random.seq()),
                .compacted(floor: random.seq(), archive: random.maybe { $0.identifier() }),
                .held(user: random.identifier()), .erased(user: random.identifier()),
                .wrongRevision(expected: random.seq().rawValue, revision: random.seq().rawValue),
                .rewound(random.seq(), lastShared: random.maybe { $0.seq() }), .staleSnapshot(random.seq()),
                .endReached,
            ]
            for refusal in refusals {
                try expectForm(refusal, seed)
                try expectForm(TraylogError.refused(refusal), seed)
            }
            let failure = StoreFailure(
                code: StoreFailure.Code.allCases.randomElement(using: &random.generator)!, message: random.text(),
                path: random.maybe { $0.text() }, operation: random.maybe { $0.text() }, holder: random.maybe { _ in 7 }
            )
            try expectForm(failure, seed)
            try expectForm(TraylogError.failed(failure), seed)
        }
        for text in [
            #"{"error":"held","message":"no"}"#, #"{"error":"held","message":"no","user":"ann"}"#,
            #"{"error":"invalid","message":"no","field":"title"}"#, #"{"error":"new","message":"no"}"#,
        ] {
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(Refusal.self, from: Data(text.utf8)) }
        }
    }

    /// Encoded in any formatting, and with its members in any order as another process would write them, it is decoded to an
    /// equal value; encoded it is the same JSON as written.
    private func expectForm<Value: JSONForm & Decodable & Hashable>(_ value: Value, _ seed: UInt64) throws {
        var random = RandomCommands(seed: seed)
        let encoder = JSONEncoder()
        var texts = [Data(value.json.utf8), Data(random.rewritten(value.json).utf8)]
        for formatting: JSONEncoder.OutputFormatting in [[], .prettyPrinted, [.sortedKeys, .withoutEscapingSlashes]] {
            encoder.outputFormatting = formatting
            texts.append(try encoder.encode(value))
        }
        texts.append(Data(random.rewritten(String(decoding: texts[2], as: UTF8.self), numbers: false).utf8))
        // A decoder rounds long numbers in text that no encoder wrote, and an encoder says so in `dataText`.
        let isExact =
            !value.json.contains(/[0-9.]{16}/) && !String(decoding: texts[2], as: UTF8.self).contains("\"dataText\":")
        for (index, data) in texts.enumerated() where isExact || index > 1 {
            let again = try JSONDecoder().decode(Value.self, from: data)
            #expect(again == value, "seed \(seed), text \(index): \(value.json)")
            #expect(again.hashValue == value.hashValue, "seed \(seed), text \(index): \(value.json)")
        }
        guard isExact else { return }
        #expect(
            NaiveData(String(decoding: texts[2], as: UTF8.self)) == NaiveData(value.json), "seed \(seed): \(value.json)"
        )
    }

    @Test(arguments: [
        ("12345678901234567890123", nil), ("-12345678901234567890123", nil), ("18446744073709551615", nil),
        ("1e30", nil),
        ("-0", nil), ("1.0", nil), ("5e-324", nil), (#"{"b":1,"a":2}"#, nil),
        ("1e400", #"{"data":1.7976931348623157e+308,"dataText":"1e400"}"#),
        ("3.14159265358979323846", #"{"data":3.141592653589793,"dataText":"3.14159265358979323846"}"#),
        (#"{"a":1,"a":2}"#, #"{"data":{"a":2},"dataText":"{\"a\":1,\"a\":2}"}"#),
        (#"{"data":{"dataText":"x"}}"#, nil),
    ])
    func anEncoderKeepsDataOrItsText(data: String, form: String?) throws {
        let content = Content(data: data)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let encoded = try encoder.encode(content)
        if let form { #expect(String(decoding: encoded, as: UTF8.self) == form) }
        #expect(String(decoding: encoded, as: UTF8.self).hasPrefix(#"{"data":"#))
        #expect(try JSONDecoder().decode(Content.self, from: encoded) == content)
        let command = Command.notify("ada", content, key: "k")
        #expect(try JSONDecoder().decode(Command.self, from: encoder.encode(command)) == command)
        var edit = ContentEdit()
        edit.data = .set(data)
        #expect(try JSONDecoder().decode(ContentEdit.self, from: encoder.encode(edit)) == edit)
        let list = try PropertyListEncoder().encode(content)
        #expect(try PropertyListDecoder().decode(Content.self, from: list) == content)
    }

    @Test(arguments: [#"{"data":1,"dataText":"{"}"#, #"{"data":1,"dataText":7}"#])
    func dataTextThatIsNoJSONIsADecodingError(text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Content.self, from: Data(text.utf8)) }
        let command = #"{"kind":"notify","user":"ada","# + text.dropFirst()
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Command.self, from: Data(command.utf8)) }
    }

    @Test func aDecodedCommandHasItsDataInOneOrder() throws {
        var random = RandomCommands(seed: 7)
        let text = #"{"kind":"notify","user":"ada","key":"k","data":{"d":[{"f":1,"e":2}],"c":3,"b":4,"a":5}}"#
        for _ in 0..<50 {
            let command = try JSONDecoder().decode(Command.self, from: Data(random.rewritten(text).utf8))
            guard case .notify(let content) = command.action else { return #expect(Bool(false)) }
            #expect(content.data == #"{"a":5,"b":4,"c":3,"d":[{"e":2,"f":1}]}"#)
        }
    }

    @Test func plainValuesAreOneNumberOrWord() throws {
        try expectText(Seq(7), "7")
        try expectText(Timestamp(milliseconds: 1_082_040_961_000), #""2004-04-15T14:56:01.000Z""#)
        try expectText(Mark.unarchived, #""unarchived""#)
        try expectText(BulkMark.deleted, #""deleted""#)
        try expectText(InterruptionLevel.timeSensitive, #""timeSensitive""#)
        try expectText(EventKind.allMarked, #""allMarked""#)
        try expectText(ItemReference.seq(3), "3")
        try expectText(ItemReference.key("3"), #""3""#)
        try expectText(try #require(Cursor("c1-zz")), #""c1-zz""#)
        try expectText(Moment.seq(3), "3")
        try expectText(Moment.time(Timestamp(milliseconds: 0)), #""1970-01-01T00:00:00.000Z""#)
    }

    private func expectText<Value: Codable & Equatable>(_ value: Value, _ text: String) throws {
        #expect(try String(decoding: JSONEncoder().encode([value]), as: UTF8.self) == "[\(text)]")
        #expect(try JSONDecoder().decode([Value].self, from: Data("[\(text)]".utf8)) == [value])
    }

    @Test func aCommandIsReadByTheRulesOfALine() throws {
        let line = #"{"kind":"notify","user":"ada","title":"x","size":3}"#
        let error = #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(Command.self, from: Data(line.utf8))
        }
        guard case .dataCorrupted(let context) = error else {
            Issue.record("not dataCorrupted")
            return
        }
        #expect(context.underlyingError as? Refusal == .invalid(field: "size", reason: "unknown field"))
        #expect(
            try JSONDecoder().decode([Command].self, from: Data(#"[{"kind":"seeTray","user":"a"}]"#.utf8)) == [
                .seeTray(of: "a")
            ])
    }

    @Test(arguments: [
        #"{"user":"a"}"#, #"{"seq":1,"kind":"bought"}"#, #"{"result":"appended"}"#, #"{"seq":"1"}"#, "[]", "3",
    ])
    func anythingElseIsADecodingError(text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Event.self, from: Data(text.utf8)) }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Tray.self, from: Data(text.utf8)) }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Receipt.self, from: Data(text.utf8)) }
    }

    @Test func arithmeticOfSeqsAndTimesStopsAtTheEnds() {
        #expect(Seq(1) + 1 == 2 && Seq(5) - 7 == 0 && Seq(.max) + 1 == Seq(.max) && Seq(5) + -2 == 3)
        let time = Timestamp(milliseconds: 1_000)
        #expect(
            time + .seconds(1) == Timestamp(milliseconds: 2_000)
                && time - .milliseconds(1) == Timestamp(milliseconds: 999))
        #expect(time + .microseconds(-1) == Timestamp(milliseconds: 999))
        #expect(Timestamp(milliseconds: .max) + .seconds(1) == Timestamp(milliseconds: .max))
        #expect(Timestamp(milliseconds: 5_000) - time == .seconds(4))
    }
}

extension RandomCommands {
    fileprivate mutating func shownItem() -> Item {
        Item(
            seq: number(), position: number(), key: maybe { $0.identifier() }, topic: maybe { $0.identifier() },
            content: arrived(content(collapsing: true)), isMuted: .random(using: &generator),
            isSeen: .random(using: &generator),
            isRead: .random(using: &generator), isArchived: .random(using: &generator),
            isDeleted: .random(using: &generator), isGone: .random(using: &generator),
            snoozedUntil: maybe { $0.time() },
            outcome: maybe { $0.outcome() }, actor: maybe { $0.identifier() }, occurredAt: maybe { $0.time() },
            recordedAt: time(), arrivedAt: maybe { $0.time() })
    }

    /// What an item shows has arrived.
    private func arrived(_ content: Content) -> Content {
        var content = content
        content.notBefore = nil
        return content
    }

    fileprivate mutating func outcome() -> Outcome {
        Outcome(
            action: identifier(), note: maybe { $0.text() }, actor: identifier(), seq: number(), at: time(),
            asOf: number())
    }

    fileprivate mutating func thread() -> ItemFilter.Thread {
        [.any, .unthreaded, .named(identifier())].randomElement(using: &generator)!
    }

    fileprivate mutating func audience() -> Audience {
        Audience(
            item: number(), asOf: number(), recipients: count(), seen: count(), read: count(), archived: count(),
            deleted: count(), awaiting: count(),
            outcomes: ["B", "a", "é"].map { Audience.OutcomeCount(action: $0, count: count()) }, erased: count())
    }

    fileprivate mutating func recipient() -> Recipient {
        func occasion() -> Recipient.Occasion? { maybe { .init(seq: $0.number(), at: $0.time()) } }
        return Recipient(
            user: identifier(), seen: occasion(), read: occasion(), outcome: maybe { $0.outcome() })
    }

    fileprivate mutating func query() -> InboxQuery {
        InboxQuery(
            ItemFilter(
                includeSilent: .random(using: &generator), onlyUnread: .random(using: &generator),
                onlyUnseen: .random(using: &generator), onlyAwaiting: .random(using: &generator), thread: thread(),
                categories: (0..<Int.random(in: 0...2, using: &generator)).map { _ in identifier() },
                actor: maybe { $0.identifier() }, level: maybe { _ in .timeSensitive }, since: maybe { $0.time() },
                until: maybe { $0.time() }, text: maybe { $0.identifier() }), view: .snoozed,
            limit: count(), cursor: maybe { _ in Cursor("c1-zz")! })
    }

    fileprivate mutating func tray() -> Tray {
        Tray(
            user: identifier(), asOf: number(), revision: UInt64.random(in: 0...9, using: &generator), unseen: count(),
            unread: count(), awaiting: count(), total: count(), seenUpTo: number(),
            seenAt: maybe { $0.time() }, newest: maybe { $0.number() }, newestCounted: maybe { $0.number() },
            categories: ["B", "a", "é"].map { Tray.CategoryCounts(category: $0, unseen: count(), unread: count()) })
    }

    fileprivate mutating func group() -> ThreadGroup {
        ThreadGroup(
            thread: maybe { $0.identifier() }, count: count(), unseen: count(), unread: count(), newest: shownItem(),
            more: count(), names: (0..<Int.random(in: 0...5, using: &generator)).map { _ in identifier() })
    }

    fileprivate mutating func receipt() -> Receipt {
        [.unchanged, .appended(number()), .duplicate(number())].randomElement(using: &generator)!
    }

    fileprivate mutating func event() -> Event {
        let command = next()
        return Event(
            seq: number(), recordedAt: time(), occurredAt: command.occurredAt,
            revision: UInt64.random(in: 0...9, using: &generator), user: command.user, key: command.key,
            actor: command.actor, device: command.device, body: body(of: command.action))
    }

    /// An event that a command might become, and sometimes one that no command causes.
    private mutating func body(of action: Command.Action) -> Event.Body {
        if Int.random(in: 0..<8, using: &generator) == 0 {
            return [
                .arrived(
                    item: number(), topic: maybe { $0.identifier() }, key: maybe { $0.identifier() },
                    notifiedAt: time(),
                    Content(title: "Then")),
                .expired(item: number()), .reminded(item: number()), .erased(spans: []),
                .erased(spans: [SubscriptionSpan(topic: identifier(), from: number(), to: number())]),
                .redacted(.marked),
                .compacted(through: number(), dropped: 3, archive: maybe { $0.identifier() }),
            ].randomElement(using: &generator)!
        }
        switch action {
        case .notify(let content): return .notified(content)
        case .broadcast(let topic, let content): return .broadcast(topic: topic, content)
        case .seeTray: return .traySeen(upTo: number())
        case .mark(let mark, _): return .marked(mark, items: [number(), number()])
        case .markAll(let mark, let filter, _): return .allMarked(mark, filter, upTo: number())
        case .mute(let scope, let until): return .muted(scope, until: until)
        case .unmute(let scope): return .unmuted(scope)
        case .snooze(_, let until): return .snoozed(item: number(), until: until)
        case .wake: return .woken(item: number())
        case .edit(_, let edit): return .edited(item: number(), edit)
        case .retract: return .retracted(item: number())
        case .subscribe(let topic): return .subscribed(topic: topic, topicRevision: 7)
        case .unsubscribe(let topic): return .unsubscribed(topic: topic, topicRevision: 0)
        case .undo: return .undone(event: number())
        case .act(_, let action, let note, _):
            return .acted(item: number(), action: action, note: note, asOf: number())
        }
    }

    private mutating func number() -> Seq { seq() }
    private mutating func count() -> Int { Int.random(in: 0...1_000_000, using: &generator) }
}
