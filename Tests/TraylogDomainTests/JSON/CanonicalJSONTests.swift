import TestSupport
import Testing

@testable import TraylogDomain
@testable import TraylogJSON

/// One text for each JSON value: the vectors of Docs/internals/format.md, and random values against the naive model's reader.
@Suite struct CanonicalJSONTests {
    @Test(arguments: [
        (" null ", "null"), ("true", "true"), ("[ ]", "[]"), ("{ }", "{}"), ("[1 ,\t2,\r\n3]", "[1,2,3]"),
        ("0", "0"), ("-0", "0"), ("0.000e99", "0"), ("1", "1"), ("1.0", "1"), ("1E0", "1"), ("10", "1e1"),
        ("1e2", "1e2"), ("100", "1e2"), ("1.00e+2", "1e2"), ("0.1", "1e-1"), ("-0.50", "-5e-1"), ("5e-1", "5e-1"),
        ("12345678901234567890123", "12345678901234567890123"),
        ("12345678901234567890123.0", "12345678901234567890123"),
        ("1.2345678901234567890123e22", "12345678901234567890123"),
        ("9007199254740993", "9007199254740993"), ("3.14159265358979323846264", "314159265358979323846264e-23"),
        ("1e400", "1e400"), ("0.1e401", "1e400"), ("1e-400", "1e-400"), ("1e0000000000000000000000001", "1e1"),
        ("1e999999999999999999", "1e999999999999999999"), ("10e999999999999999999", "1e1000000000000000000"),
        ("0.1e1000000000000000000", "1e999999999999999999"), ("10e-1000000000000000000", "1e-999999999999999999"),
        ("0.1e-999999999999999999999", "1e-1000000000000000000000"),
        ("1e99999999999999999999999", "1e99999999999999999999999"),
        (#""\u0041\/\u00e9\ud83d\ude00""#, #""A/é😀""#),
        (#""\u0022\u005c\u0008\u0009\u000a\u000c\u000d\u001F\u007f""#, "\"\\\"\\\\\\b\\t\\n\\f\\r\\u001f\u{7f}\""),
        (#"{"b":1,"a":[{"d":1,"c":2}]}"#, #"{"a":[{"c":2,"d":1}],"b":1}"#),
        (#"{"a!":1,"a":2,"":3,"A":4}"#, #"{"":3,"A":4,"a":2,"a!":1}"#),
        (#"{"\ue000":1,"😀":2,"\u00e9":3,"z":4}"#, "{\"z\":4,\"é\":3,\"\u{e000}\":1,\"😀\":2}"),
        (#"{"a":2,"b":0,"\u0061":1}"#, #"{"a":2,"a":1,"b":0}"#),
    ])
    func aValueHasOneText(text: String, canonical: String) {
        #expect(CanonicalJSON.bytes(of: text.utf8Span.span) == Array(canonical.utf8))
        #expect(CanonicalJSON.bytes(of: canonical.utf8Span.span) == Array(canonical.utf8))
    }

    @Test(arguments: [
        ("1", "1.0000000000000000000000001"), ("12345678901234567890123", "12345678901234567890124"), ("-1", "1"),
        ("1e400", "1e401"),
        (#""é""#, #""e\u0301""#), (#"{"a":1,"a":2}"#, #"{"a":2,"a":1}"#), (#"{"a":1,"a":2}"#, #"{"a":2}"#),
        ("[1,2]", "[2,1]"),
        ("[]", "{}"), ("null", "0"), (#""1""#, "1"), ("[1]", "[[1]]"), ("true", "false"), ("{", "{ "),
    ])
    func differentValuesHaveDifferentTexts(left: String, right: String) {
        #expect(!CanonicalJSON.areEqual(left, right) && Content(data: left) != Content(data: right))
    }

    @Test(arguments: ["", "{", "[1,]", "01", #""\ud800""#, #""\udc00\ud800""#, "nul", "1 2", "\u{feff}1"])
    func textThatIsNotJSONHasNoCanonicalForm(text: String) {
        #expect(CanonicalJSON.bytes(of: text.utf8Span.span) == nil)
        #expect(Content(data: text) == Content(data: text) && Content(data: text) != Content(data: text + " "))
    }

    @Test func theDeepestNestingIsSorted() {
        func nested(_ depth: Int) -> String {
            String(repeating: #"{"b":"#, count: depth) + "1" + String(repeating: #","a":1.0}"#, count: depth)
        }
        let expected = String(repeating: #"{"a":1,"b":"#, count: 512) + "1" + String(repeating: "}", count: 512)
        #expect(CanonicalJSON.bytes(of: nested(512).utf8Span.span) == Array(expected.utf8))
        #expect(CanonicalJSON.bytes(of: nested(513).utf8Span.span) == nil)
    }

    @Test(arguments: seeds(30, nightly: 5_000))
    func textsAreEqualWhenTheNaiveModelReadsTheSameValue(seed: UInt64) throws {
        var random = RandomCommands(seed: seed)
        for _ in 0..<50 {
            let text = random.data()
            let canonical = CanonicalJSON.text(of: text)
            #expect(NaiveData(canonical) == NaiveData(text), "seed \(seed): \(text)")
            #expect(CanonicalJSON.text(of: canonical) == canonical, "seed \(seed): \(text)")
            let other = Bool.random(using: &random.generator) ? random.data() : random.rewritten(text)
            #expect(
                CanonicalJSON.areEqual(text, other) == (NaiveData(text) == NaiveData(other)),
                "seed \(seed): \(text) and \(other)")
            let (left, right) = (Content(data: text), Content(data: other))
            if left == right { #expect(left.hashValue == right.hashValue, "seed \(seed): \(text) and \(other)") }
        }
    }

    @Test func everyFieldOfAContentCountsWhenContentsAreCompared() {
        let changes: [(inout Content) -> Void] = [
            { $0.thread = "x" }, { $0.category = "x" }, { $0.title = "x" }, { $0.body = "x" },
            { $0.summaryArgument = "x" },
            { $0.summaryCount = 7 }, { $0.isSilent = true }, { $0.level = .critical },
            { $0.expiresAt = Timestamp(milliseconds: 1) },
            { $0.collapseKey = "x" }, { $0.data = "1" }, { $0.remindAt = Timestamp(milliseconds: 1) },
            { $0.notBefore = Timestamp(milliseconds: 1) },
            { $0.actions = [ItemAction(id: "a", label: "A")] },
        ]
        #expect(changes.count == Mirror(reflecting: Content()).children.count)
        for change in changes {
            var content = Content()
            change(&content)
            #expect(content != Content() && !content.hasSameValues(as: Content()))
        }
        let edits: [(inout ContentEdit) -> Void] = [
            { $0.title = .clear }, { $0.body = .clear }, { $0.summaryArgument = .clear }, { $0.summaryCount = .clear },
            { $0.level = .clear }, { $0.expiresAt = .clear }, { $0.remindAt = .clear }, { $0.data = .clear },
            { $0.data = .set("1") }, { $0.notBefore = .set(Timestamp(milliseconds: 1)) },
        ]
        #expect(edits.count == Mirror(reflecting: ContentEdit()).children.count + 1)
        for change in edits {
            var edit = ContentEdit()
            change(&edit)
            #expect(edit != ContentEdit())
        }
    }
}
