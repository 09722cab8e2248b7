import Testing

@testable @_spi(JSON) import TraylogJSON

/// How a tree is read that a module outside of the package makes, as the server does.
@Suite struct JSONReadingTests {
    private indirect enum Tree: JSONNode, Equatable {
        case null, bool(Bool), number(String), string(String), array([Tree]), members([String], [Tree])

        static func object(_ members: [(name: String, value: Tree)]) -> Tree {
            .members(members.map(\.name), members.map(\.value))
        }
    }

    private static func read(_ text: String) throws -> Tree { try Tree(json: text.utf8Span.span, deepest: 3) }

    @Test func membersKeepTheirOrderAndNumbersTheirDigits() throws {
        #expect(
            try Self.read(#" {"b":[1.50,-0,1E+05,123456789012345678901234567890],"a":null,"\u0063":[true,"é\n",{}]} "#)
                == .members(
                    ["b", "a", "c"],
                    [
                        .array(["1.50", "-0", "1E+05", "123456789012345678901234567890"].map(Tree.number)), .null,
                        .array([.bool(true), .string("é\n"), .members([], [])]),
                    ]))
    }

    @Test(arguments: [
        ("", "the JSON ends early (byte 1)"), ("[1 2]", "a comma or closing bracket is missing (byte 4)"),
        ("[01]", "a number has a leading zero (byte 2)"), ("1 2", "something follows the JSON value (byte 3)"),
        (#"["\ud800"]"#, "a string has half of a surrogate pair (byte 3)"),
        ("[[[[1]]]]", "values are nested more than 3 deep (byte 4)"),
        (#"[{"a":1,"\u0061":2}]"#, "a member is given twice (byte 9)"),
        (#"{"a":{"b":1,"b":1}}"#, "a member is given twice (byte 13)"),
    ])
    func anErrorNamesThePlace(text: String, message: String) {
        let error = #expect(throws: JSONError.self) { try Self.read(text) }
        #expect(error?.message == message)
    }

    @Test func twoSpellingsOfACharacterAreTwoNames() throws {
        #expect(try Self.read("{\"\u{e9}\":1,\"e\u{301}\":2}") == .members(["é", "é"], [.number("1"), .number("2")]))
        #expect(try Self.read("[[[1]],{\"a\":{\"a\":1}}]") != .null)
    }
}
