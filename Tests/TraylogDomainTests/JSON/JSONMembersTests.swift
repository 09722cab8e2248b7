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
    func textThatIsNoObjectIsRefused(text: String) {
        #expect(throws: JSONFault.self) { try JSONMembers(text.utf8Span.span).values.count }
    }
}
