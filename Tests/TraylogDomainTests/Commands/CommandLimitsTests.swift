import Testing

@testable import TraylogDomain

@Suite struct CommandLimitsTests {
    private static let identifiers: [(String, @Sendable (String) -> Command)] = [
        ("user", { Command(user: $0, .seeTray()) }),
        ("key", { Command(user: "u", .seeTray(), key: $0) }),
        ("actor", { Command(user: "u", .seeTray(), actor: $0) }),
        ("device", { Command(user: "u", .seeTray(), device: $0) }),
        ("thread", { Command(user: "u", .notify(Content(thread: $0))) }),
        ("category", { Command(user: "u", .notify(Content(category: $0))) }),
        ("summaryArgument", { Command(user: "u", .notify(Content(summaryArgument: $0))) }),
        ("collapseKey", { Command(user: "u", .notify(Content(collapseKey: $0))) }),
        ("topic", { Command(user: nil, .broadcast(topic: $0, Content())) }),
        ("topic", { Command(user: "u", .subscribe(topic: $0)) }),
        ("topic", { Command(user: "u", .unsubscribe(topic: $0)) }),
        ("thread", { Command(user: "u", .mute(.thread($0))) }),
        ("category", { Command(user: "u", .unmute(.category($0))) }),
        ("thread", { Command(user: "u", .markAll(.read, ItemFilter(thread: .named($0)))) }),
        ("category", { Command(user: "u", .markAll(.read, ItemFilter(category: $0))) }),
        ("items", { Command(user: "u", .mark(.read, [.seq(1), .key($0)])) }),
        ("item", { Command(user: "u", .wake(.key($0))) }),
        ("item", { Command(user: "u", .snooze(.key($0), until: Timestamp(milliseconds: 0))) }),
        ("item", { Command(user: "u", .retract(.key($0))) }),
        (
            "summaryArgument",
            { text in Command(user: "u", .edit(.seq(1), .make { $0.summaryArgument = .set(text) })) }
        ),
    ]

    @Test func identifiersHaveOneTo256BytesWithoutControlCharacters() {
        let good = [
            "a", " ", "é", "\u{a0}", "\u{ad}", "\u{2028}", "😀", String(repeating: "x", count: 256),
            String(repeating: "é", count: 128), String(repeating: "Â", count: 12),
        ]
        let controls: [UInt8] = Array(0...0x1f) + Array(0x7f...0x9f)
        var bad: [String] = ["", String(repeating: "x", count: 257), String(repeating: "é", count: 128) + "x"]
        for code in controls {
            let scalar = String(Character(Unicode.Scalar(code)))
            bad.append(scalar)
            for length in [0, 1, 6, 7, 8, 15, 20] { bad.append(String(repeating: "x", count: length) + scalar + "y") }
        }
        for (field, make) in Self.identifiers {
            for text in good { #expect(refusedField(make(text)) == nil, "\(field) \(text)") }
            for text in bad { #expect(refusedField(make(text)) == field, "\(field) \(text)") }
        }
    }

    @Test func textsMayBeEmptyAndHaveAnyCharactersUpToTheirLimit() {
        func refused(_ content: Content) -> String? { refusedField(Command(user: "u", .notify(content))) }
        #expect(refused(Content(title: "", body: "")) == nil)
        #expect(refused(Content(title: "a\n\u{0}\u{85}", body: "\r\n\t\u{7f}")) == nil)
        #expect(refused(Content(title: String(repeating: "é", count: 512))) == nil)
        #expect(refused(Content(title: String(repeating: "é", count: 512) + "x")) == "title")
        #expect(refused(Content(body: String(repeating: "x", count: 16_384))) == nil)
        #expect(refused(Content(body: String(repeating: "x", count: 16_385))) == "body")
    }

    @Test func dataIsJSONOfAtMost64KiB() {
        func refused(_ data: String) -> String? { refusedField(Command(user: "u", .notify(Content(data: data)))) }
        let full = "\"" + String(repeating: "x", count: 65_534) + "\""
        #expect(refused(full) == nil)
        #expect(refused(full + " ") == "data")
        #expect(refused(" {\n} ") == nil)
        for data in ["", " ", "{", "1 2", "NaN", "{'a':1}", "\u{feff}1"] { #expect(refused(data) == "data") }
    }

    @Test func editsHaveTheLimitsOfContent() {
        func refused(_ change: (inout ContentEdit) -> Void) -> String? {
            refusedField(Command(user: nil, .edit(.seq(1), .make(change))))
        }
        #expect(refused { _ in } == "edit")
        #expect(refused { $0.title = .clear } == nil)
        #expect(refused { $0.level = .set(.passive) } == nil)
        #expect(refused { $0.title = .set(String(repeating: "x", count: 1_025)) } == "title")
        #expect(refused { $0.body = .set(String(repeating: "x", count: 16_385)) } == "body")
        #expect(refused { $0.data = .set("{") } == "data")
        #expect(refused { $0.data = .set(" null ") } == "data")
        #expect(refused { $0.data = .set("[null]") } == nil)
        #expect(refused { $0.expiresAt = .set(Timestamp(milliseconds: .max)) } == "expiresAt")
    }

    @Test func aMarkHasOneToOneThousandItems() {
        func mark(_ count: Int) -> Command {
            Command(user: "u", .mark(.read, (0..<count).map { .seq(Seq(UInt64($0 + 1))) }))
        }
        #expect(refusedField(mark(0)) == "items")
        #expect(refusedField(mark(1_000)) == nil)
        #expect(refusedField(mark(1_001)) == "items")
    }

    @Test func timesHaveYearsOfFourDigits() {
        let range = Timestamp.rfc3339Range
        for (time, isGood) in [
            (range.lowerBound, true), (range.upperBound, true), (Timestamp(milliseconds: .min), false),
            (Timestamp(milliseconds: range.lowerBound.milliseconds - 1), false),
            (Timestamp(milliseconds: range.upperBound.milliseconds + 1), false),
        ] {
            #expect(refusedField(Command(user: "u", .seeTray(), occurredAt: time)) == (isGood ? nil : "occurredAt"))
            #expect(refusedField(Command(user: "u", .snooze(.seq(1), until: time))) == (isGood ? nil : "until"))
            let content = Content(expiresAt: time)
            #expect(refusedField(Command(user: "u", .notify(content))) == (isGood ? nil : "expiresAt"))
        }
    }

    @Test func personalCommandsRequireAUser() {
        let needing: [Command.Action] = [
            .notify(Content()), .seeTray(), .mark(.read, [.seq(1)]), .markAll(.read), .mute(.thread("t")),
            .unmute(.thread("t")), .snooze(.seq(1), until: Timestamp(milliseconds: 0)), .wake(.seq(1)),
            .subscribe(topic: "t"), .unsubscribe(topic: "t"), .undo(event: 1),
        ]
        for action in needing {
            #expect(refusedField(Command(user: nil, action)) == "user")
            #expect(refusedField(Command(user: "u", action)) == nil)
        }
        for action in [.retract(.seq(1)), .edit(.seq(1), .make { $0.body = .clear })] as [Command.Action] {
            #expect(refusedField(Command(user: nil, action)) == nil)
            #expect(refusedField(Command(user: "u", action)) == nil)
        }
        #expect(refusedField(Command(user: "u", .broadcast(topic: "t", Content()))) == "user")
        #expect(refusedField(Command(user: nil, .broadcast(topic: "t", Content(collapseKey: "c")))) == "collapseKey")
    }
}

extension ContentEdit {
    static func make(_ change: (inout ContentEdit) -> Void) -> ContentEdit {
        var edit = ContentEdit()
        change(&edit)
        return edit
    }
}
