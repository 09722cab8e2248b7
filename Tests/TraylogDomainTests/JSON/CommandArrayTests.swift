import Testing
import TraylogDomain
import TraylogJSON

@Suite struct CommandArrayTests {
    @Test func eachArrayElementIsACommandOrNamesItsFault() throws {
        let (first, last) = (
            #"{"kind":"seeTray","user":"ada"}"#, #"{"kind":"notify","user":"bo","title":"é","data":[1]}"#
        )
        let commands = try read(" [\(first) , {\"kind\":\"see\"},7,\(last)]\n")
        #expect(commands.count == 4)
        #expect(try commands[0].get() == Command(json: first))
        #expect(try commands[3].get() == Command(json: last))
        for (index, text) in [(1, #"{"kind":"see"}"#), (2, "7")] {
            let alone = Result { () throws(Refusal) in try Command(line: text.utf8Span.span) }
            #expect(commands[index] == alone)
            #expect(throws: Refusal.self) { try alone.get() }
        }
        #expect(try read("[]").isEmpty)
        #expect(try read(" [ \n] ").isEmpty)
    }

    @Test(arguments: [
        "", " ", "7", "{}", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1]]", "[1]x", "[\"\\ud800\"]", "[{]",
    ])
    func textThatIsNoArrayIsRefusedAsAWhole(text: String) {
        #expect(throws: TraylogError.self) { try read(text) }
    }

    @Test func moreThanTheLimitIsRefused() throws {
        #expect(try read("[1,2,3]", atMost: 3).count == 3)
        #expect(throws: TraylogError.refused(.invalid(field: "array", reason: "has more than 2 commands"))) {
            try read("[1,2,3]", atMost: 2)
        }
    }

    @Test func bytesThatAreNotUTF8AreRefused() {
        let bytes: [UInt8] = Array("[\"".utf8) + [0xff] + Array("\"]".utf8)
        #expect(throws: TraylogError.self) { try Command.array(json: bytes.span, atMost: 1) }
    }

    private func read(_ text: String, atMost limit: Int = 10) throws -> [Result<Command, Refusal>] {
        try Command.array(json: Array(text.utf8).span, atMost: limit)
    }
}
