import Testing
import TraylogDomain

@Suite struct JSONMembersTests {
    @Test func membersAreFoundByName() throws {
        let text = #" { "a" : [1, {"a":2}] , "b\u0041":"x" } "#.utf8Span
        let members = try JSONMembers(text.span)
        #expect(members.values.count == 2)
        #expect(members.repeated == nil)
        let value = try #require(members.values["a"])
        #expect(
            String(decoding: Array(#" { "a" : [1, {"a":2}] , "b\u0041":"x" } "#.utf8)[value], as: UTF8.self)
                == #"[1, {"a":2}]"#)
        #expect(members.values["bA"] != nil)
        #expect(try JSONMembers("{}".utf8Span.span).values.isEmpty)
        #expect(try JSONMembers(#"{"a":1,"b":2,"\u0061":3}"#.utf8Span.span).repeated == "a")
    }

    @Test(arguments: [
        "", " ", "{", "[]", "1", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{,"a":1}"#, #"{"a":1"#, #"{"a":1}}"#, #"{a:1}"#,
        #"{"a":1 "b":2}"#, "null",
    ])
    func whatIsNoObjectIsRefused(text: String) {
        #expect(throws: JSONFault.self) { try JSONMembers(text.utf8Span.span).values.count }
    }

    @Test(arguments: [
        ("1", "1.0", true), ("1e1", " 10 ", true), ("0.5", "0.5", true), ("0.5", "0.50", false), ("-1", "-1", true),
        ("-1", "1", false), ("-1", "-2", false), (#""a\n""#, #""\u0061\u000a""#, true), (#""é""#, #""e\u0301""#, false),
        (#"{"a":[1,2]}"#, #"{ "a" : [ 1 , 2 ] }"#, true), (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#, false),
        ("[1,2]", "[1]", false), ("[]", "{}", false), ("true", "false", false), ("true", "true ", true),
        ("null", "1", false),
        ("[1]", "[[1]]", false), (#""1""#, "1", false),
    ])
    func valuesAreEqualThatSayTheSame(left: String, right: String, areEqual: Bool) {
        #expect(JSONScanner.areEqual(left.utf8Span.span, right.utf8Span.span) == areEqual)
        #expect(JSONScanner.areEqual(right.utf8Span.span, left.utf8Span.span) == areEqual)
    }
}
