import Testing

@_spi(JSON) @testable import TraylogDomain
@testable import TraylogJSON

@Suite struct CommandJSONTests {
    @Test func aNotifyWithEveryFieldIsRead() throws {
        let read = try command(
            #"""
            {"kind":"notify","user":"ada","key":"k","occurredAt":"2004-04-15T14:56:01Z","actor":"bob","device":"d",
            "thread":"t","category":"c","title":"T\n","body":"","summaryArgument":"Bob","summaryCount":4294967295,
            "silent":true,"level":"timeSensitive","expiresAt":"2005-01-01T00:00:00+01:00","collapseKey":"x",
            "data": {"b" : [1, "é"]} }
            """#)
        let content = Content(
            thread: "t", category: "c", title: "T\n", body: "", summaryArgument: "Bob", summaryCount: .max,
            isSilent: true, level: .timeSensitive, expiresAt: Timestamp("2004-12-31T23:00:00Z"),
            collapseKey: "x", data: #"{"b" : [1, "é"]}"#)
        let expected = Command(
            user: "ada", .notify(content), key: "k", occurredAt: Timestamp("2004-04-15T14:56:01Z"),
            actor: "bob", device: "d")
        #expect(read == expected)
    }

    private static var edit: ContentEdit {
        var edit = ContentEdit()
        edit.title = .set("x")
        edit.body = .clear
        edit.summaryCount = .set(0)
        edit.level = .clear
        edit.expiresAt = .set(Timestamp(milliseconds: 0))
        edit.data = .clear
        return edit
    }

    @Test(arguments: [
        (#""notify","user":"u""#, Command.Action.notify(Content())),
        (#""notify","user":"u","data":null"#, .notify(Content(data: "null"))),
        (#""seeTray","user":"u""#, .seeTray()),
        (#""seeTray","user":"u","upTo":1e3"#, .seeTray(upTo: 1_000)),
        (#""mark","user":"u","as":"read","items":[1,"k",3.0]"#, .mark(.read, [.seq(1), .key("k"), .seq(3)])),
        (#""mark","user":"u","as":"unarchived","items":[ 1 ]"#, .mark(.unarchived, [.seq(1)])),
        (#""markAll","user":"u","as":"deleted""#, .markAll(.deleted)),
        (#""markAll","user":"u","as":"seen","thread":null"#, .markAll(.seen, ItemFilter(thread: .unthreaded))),
        (
            #""markAll","user":"u","as":"read","thread":"t","category":"c","upTo":0"#,
            .markAll(.read, ItemFilter(thread: .named("t"), category: "c"), upTo: 0)
        ),
        (#""mute","user":"u","thread":"t""#, .mute(.thread("t"))),
        (
            #""mute","user":"u","all":true,"until":"1970-01-01T00:00:00.005Z""#,
            .mute(.all, until: Timestamp(milliseconds: 5))
        ),
        (#""unmute","user":"u","all":true"#, .unmute(.all)),
        (#""mute","user":"u","topic":"t""#, .mute(.topic("t"))),
        (#""unmute","user":"u","topic":"t""#, .unmute(.topic("t"))),
        (#""act","user":"u","item":3,"action":"yes""#, .act(3, action: "yes")),
        (#""act","user":"u","item":"k","action":"yes","note":"n""#, .act("k", action: "yes", note: "n")),
        (#""act","user":"u","item":"k","action":"yes","asOf":7"#, .act("k", action: "yes", asOf: 7)),
        (
            #""notify","user":"u","actions":[ {"id":"a", "label":"A"},{"label":"B","id":"b"} ]"#,
            .notify(Content(actions: [ItemAction(id: "a", label: "A"), ItemAction(id: "b", label: "B")]))
        ),
        (#""unmute","user":"u","category":"c""#, .unmute(.category("c"))),
        (
            #""snooze","user":"u","item":"k","until":"1970-01-01T00:00:00.5Z""#,
            .snooze(.key("k"), until: Timestamp(milliseconds: 500))
        ),
        (#""wake","user":"u","item":18446744073709551615"#, .wake(.seq(Seq(.max)))),
        (#""retract","user":"u","item":7"#, .retract(.seq(7))),
        (
            #"""
            "edit","user":"u","item":7,"title":"x","body":null,"summaryCount":0,"level":null,
            "expiresAt":"1970-01-01T00:00:00Z","data":null
            """#, .edit(.seq(7), edit)
        ),
        (#""subscribe","user":"u","topic":"news""#, .subscribe(topic: "news")),
        (#""unsubscribe","user":"u","topic":"news""#, .unsubscribe(topic: "news")),
        (#""undo","user":"u","event":9"#, .undo(event: 9)),
    ])
    func everyKindIsRead(members: String, action: Command.Action) throws {
        #expect(try command("{\"kind\":\(members)}") == Command(user: "u", action))
    }

    @Test(arguments: [
        (#""broadcast","topic":"news","title":"T""#, Command.Action.broadcast(topic: "news", Content(title: "T"))),
        (#""retract","item":7"#, .retract(.seq(7))),
        (
            #""edit","item":7,"body":null"#,
            .edit(
                .seq(7),
                {
                    var edit = ContentEdit(); edit.body = .clear; return edit
                }())
        ),
    ])
    func commandsForEveryoneHaveNoUser(members: String, action: Command.Action) throws {
        #expect(try command("{\"kind\":\(members)}") == Command(user: nil, action))
    }

    @Test func membersComeInAnyOrderAndTheirNamesMayBeEscaped() throws {
        let plain = try command(#"{"kind":"mark","user":"u","as":"seen","items":[1]}"#)
        #expect(try command(#"{"items":[1],"as":"seen","user":"u","kind":"mark"}"#) == plain)
        #expect(try command(#"{"k\u0069nd":"m\u0061rk","user":"\u0075","as":"se\u0065n","items":[1]}"#) == plain)
        #expect(try command(" \t{ \"kind\" : \"mark\" , \"user\":\"u\",\"as\":\"seen\",\"items\":[1] } \r\n") == plain)
    }

    private static let malformedLines: [(String, String)] = [
        // The line.
        ("", "line"), (" ", "line"), ("[]", "line"), ("null", "line"), ("\u{feff}{}", "line"), ("{", "line"),
        (#"{"kind":"erase","user":"u"} x"#, "line"), (#"{"kind":"erase","user":"u"}{}"#, "line"),
        (#"{"kind":"erase","user":"u""#, "line"), (#"{"kind":"erase","user":"u",}"#, "line"),
        (#"{"kind":"erase" "user":"u"}"#, "line"), (#"{kind:"erase"}"#, "line"), (#"{"kind" "erase"}"#, "line"),
        (#"{,"kind":"erase"}"#, "line"), (#"{"ki\qnd":1}"#, "line"), (#"{"\ud800":1}"#, "line"),
        // Kinds and names.
        ("{}", "kind"), (#"{"user":"u"}"#, "kind"), (#"{"kind":"nope","user":"u"}"#, "kind"), (#"{"kind":1}"#, "kind"),
        (#"{"kind":null}"#, "kind"), (#"{"kind":"Notify","user":"u"}"#, "kind"), (#"{"kind":"","user":"u"}"#, "kind"),
        (#"{"kind":"notify\u0000","user":"u"}"#, "kind"), (#"{"kind":"notify","user":"u","nope":1}"#, "nope"),
        (#"{"kind":"notify","user":"u","":1}"#, ""), (#"{"kind":"notify","user\u0000":"u"}"#, "user\u{0}"),
        (#"{"kind":"notify","user":"u","User":"u"}"#, "User"), (#"{"kind":"notify","user":"u","user":"u"}"#, "user"),
        (#"{"kind":"notify","user":"u","us\u0065r":"v"}"#, "user"),
        (#"{"kind":"erase","user":"u","kind":"erase"}"#, "kind"), (#"{"kind":"erase","user":"u"}"#, "kind"),
        (#"{"kind":"notify","user":"u","title":null,"title":"x"}"#, "title"),
        (#"{"kind":"seeTray","user":"u","title":"x"}"#, "title"), (#"{"kind":"notify","user":"u","upTo":1}"#, "upTo"),
        (#"{"kind":"erase","user":"u","items":[1]}"#, "items"),
        (#"{"kind":"mark","user":"u","as":"read","item":1}"#, "item"),
        (#"{"kind":"edit","user":"u","item":1,"title":"x","thread":"t"}"#, "thread"),
        (#"{"kind":"edit","user":"u","item":1,"title":"x","silent":true}"#, "silent"),
        // Users.
        (#"{"kind":"notify"}"#, "user"), (#"{"kind":"seeTray"}"#, "user"), (#"{"kind":"undo","event":1}"#, "user"),
        (#"{"kind":"notify","user":null}"#, "user"), (#"{"kind":"notify","user":1}"#, "user"),
        (#"{"kind":"notify","user":""}"#, "user"), (#"{"kind":"notify","user":"a\u0000"}"#, "user"),
        (#"{"kind":"notify","user":"a\u007f"}"#, "user"), (#"{"kind":"notify","user":"a\u009f"}"#, "user"),
        (#"{"kind":"broadcast","topic":"t","user":"u"}"#, "user"),
        // Missing and wrong members of each kind.
        (#"{"kind":"broadcast"}"#, "topic"), (#"{"kind":"broadcast","topic":"t","collapseKey":"c"}"#, "collapseKey"),
        (#"{"kind":"subscribe","user":"u"}"#, "topic"), (#"{"kind":"subscribe","user":"u","topic":null}"#, "topic"),
        (#"{"kind":"mark","user":"u","items":[1]}"#, "as"), (#"{"kind":"mark","user":"u","as":"read"}"#, "items"),
        (#"{"kind":"mark","user":"u","as":"nope","items":[1]}"#, "as"),
        (#"{"kind":"mark","user":"u","as":"read","items":[]}"#, "items"),
        (#"{"kind":"mark","user":"u","as":"read","items":1}"#, "items"),
        (#"{"kind":"mark","user":"u","as":"read","items":[null]}"#, "items"),
        (#"{"kind":"mark","user":"u","as":"read","items":[1,]}"#, "items"),
        (#"{"kind":"mark","user":"u","as":"read","items":[1 2]}"#, "items"),
        (#"{"kind":"mark","user":"u","as":"read","items":[1"#, "items"),
        (#"{"kind":"mark","user":"u","as":"read","items":[-1]}"#, "items"),
        (#"{"kind":"mark","user":"u","as":"read","items":[1.5]}"#, "items"),
        (#"{"kind":"mark","user":"u","as":"read","items":[01]}"#, "items"),
        (#"{"kind":"mark","user":"u","as":"read","items":[""]}"#, "items"),
        (#"{"kind":"mark","user":"u","as":"read","items":["a\nb"]}"#, "items"),
        (#"{"kind":"markAll","user":"u"}"#, "as"), (#"{"kind":"markAll","user":"u","as":"unread"}"#, "as"),
        (#"{"kind":"markAll","user":"u","as":"seen","category":null}"#, "category"),
        (#"{"kind":"markAll","user":"u","as":"seen","thread":""}"#, "thread"),
        (#"{"kind":"mute","user":"u"}"#, "thread"),
        (#"{"kind":"mute","user":"u","thread":"t","category":"c"}"#, "thread"),
        (#"{"kind":"mute","user":"u","thread":null}"#, "thread"),
        (#"{"kind":"unmute","user":"u","category":""}"#, "category"),
        (#"{"kind":"snooze","user":"u","item":1}"#, "until"), (#"{"kind":"wake","user":"u"}"#, "item"),
        (#"{"kind":"snooze","user":"u","item":1,"until":"tomorrow"}"#, "until"),
        (#"{"kind":"snooze","user":"u","item":1,"until":5}"#, "until"),
        (#"{"kind":"wake","user":"u","item":[1]}"#, "item"), (#"{"kind":"wake","user":"u","item":null}"#, "item"),
        (#"{"kind":"edit","user":"u","item":1}"#, "edit"), (#"{"kind":"undo","user":"u"}"#, "event"),
        (#"{"kind":"undo","user":"u","event":"1"}"#, "event"), (#"{"kind":"retract","item":true}"#, "item"),
        // Values.
        (#"{"kind":"seeTray","user":"u","upTo":18446744073709551616}"#, "upTo"),
        (#"{"kind":"seeTray","user":"u","upTo":"5"}"#, "upTo"), (#"{"kind":"seeTray","user":"u","upTo":null}"#, "upTo"),
        (#"{"kind":"notify","user":"u","summaryCount":4294967296}"#, "summaryCount"),
        (#"{"kind":"notify","user":"u","summaryCount":-1}"#, "summaryCount"),
        (#"{"kind":"notify","user":"u","silent":"true"}"#, "silent"),
        (#"{"kind":"notify","user":"u","silent":1}"#, "silent"),
        (#"{"kind":"notify","user":"u","silent":truex}"#, "line"),
        (#"{"kind":"notify","user":"u","silent":tru}"#, "silent"),
        (#"{"kind":"notify","user":"u","level":"loud"}"#, "level"),
        (#"{"kind":"notify","user":"u","title":NaN}"#, "title"),
        (#"{"kind":"notify","user":"u","title":"\ud800"}"#, "title"),
        (#"{"kind":"notify","user":"u","title":["x"]}"#, "title"),
        (#"{"kind":"notify","user":"u","title":}"#, "title"), (#"{"kind":"notify","user":"u","title":"#, "title"),
        (#"{"kind":"notify","user":"u","title":"x"#, "title"), (#"{"kind":"notify","user":"u","title":null}"#, "title"),
        (#"{"kind":"notify","user":"u","data":{"a":01}}"#, "data"), (#"{"kind":"notify","user":"u","data":}"#, "data"),
        (#"{"kind":"notify","user":"u","data":[1,]}"#, "data"), (#"{"kind":"notify","user":"u","data":NaN}"#, "data"),
        (#"{"kind":"notify","user":"u","occurredAt":"2004-02-30T00:00:00Z"}"#, "occurredAt"),
        (#"{"kind":"notify","user":"u","expiresAt":"9999-12-31T23:59:59-01:00"}"#, "expiresAt"),
        (#"{"kind":"notify","user":"u","key":""}"#, "key"), (#"{"kind":"notify","user":"u","actor":""}"#, "actor"),
        (#"{"kind":"notify","user":"u","device":"\u001b"}"#, "device"),
        (#"{"kind":"notify","user":"u","summaryArgument":""}"#, "summaryArgument"),
        (#"{"kind":"notify","user":"u","collapseKey":"\t"}"#, "collapseKey"),
    ]

    @Test(arguments: malformedLines)
    func aMalformedLineIsRefusedForItsField(line: String, field: String) {
        #expect(refusedField(line) == field)
    }

    @Test func textThatIsNotUTF8IsRefusedForItsField() {
        for (before, after, field) in [
            (#"{"kind":"notify","user":"u","title":""#, #""}"#, "title"),
            (#"{"kind":"notify","user":"u","data":{"a":""#, #""}}"#, "data"),
            (#"{"kind":"notify","user":"u","data":{""#, #"":1}}"#, "data"),
            (#"{"kind":"notify","user":""#, #""}"#, "user"), (#"{""#, #"":1}"#, "line"),
            (#"{"kind":""#, #""}"#, "kind"), (#"{"kind":"erase","user":"u"}"#, "", "line"),
        ] {
            for bytes in [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0xaf]] as [[UInt8]] {
                #expect(refusedField(Array(before.utf8) + bytes + Array(after.utf8)) == field)
            }
        }
    }

    @Test func refusalsShortenLongNames() {
        let line = "{\"kind\":\"notify\",\"user\":\"u\",\"\(String(repeating: "x", count: 500_000))\":1}"
        #expect(refusedField(line) == String(repeating: "x", count: 64) + "…")
    }

    @Test(arguments: [
        "[1, 2]", "\"\\u00e9\\/\"", "{\"b\":1,\"a\":1.0,\"a\":1e5}", "[1 ,\t2]", "0.10", "-0", "[[[[]]]]", "\"é\"",
        "false",
    ])
    func dataIsKeptByteForByte(data: String) throws {
        let read = try command("{\"kind\":\"notify\",\"user\":\"u\",\"data\": \(data) }")
        #expect(read.action == .notify(Content(data: data)))
        let event = Event(
            seq: 1, recordedAt: Timestamp(milliseconds: 0), user: "u", body: .notified(Content(data: data)))
        #expect(json { $0.write(event) }.hasSuffix("\"data\":\(data)}"))
    }

    @Test func aLineHasAtMostOneMebibyte() throws {
        let line = #"{"kind":"seeTray","user":"u"}"#
        let padding = String(repeating: " ", count: Limits.commandLineBytes - line.utf8.count)
        #expect(refusedField(line + padding) == nil)
        #expect(refusedField(line + padding + " ") == "line")
    }
}
