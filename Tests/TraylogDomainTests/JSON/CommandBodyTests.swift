import Testing
import TraylogDomain
@_spi(JSON) import TraylogJSON

/// Commands of requests whose path has some of their fields.
@Suite struct CommandBodyTests {
    private func read(_ body: String, kind: String = "notify", user: String? = "ada") throws(Refusal) -> Command {
        do {
            return try Command(body: body.utf8Span.span, kind: kind, user: user)
        } catch {
            guard let refusal = error.refusal else { preconditionFailure("\(error)") }
            throw refusal
        }
    }

    @Test func aBodyAndAPathMakeTheSameCommandAsOneLine() throws {
        #expect(
            try read(#" {"title":"A","data":{"a": [1]},"key":"k"}"#)
                == Command(json: #"{"kind":"notify","user":"ada","title":"A","data":{"a": [1]},"key":"k"}"#))
        let snoozed = #"{"until":"2030-01-01T00:00:00Z"}"#
        #expect(
            try Command(body: snoozed.utf8Span.span, kind: "snooze", user: "ada", item: .key("k"))
                == Command(json: #"{"kind":"snooze","user":"ada","item":"k","until":"2030-01-01T00:00:00Z"}"#))
        let empty = "".utf8Span.span
        #expect(
            try Command(body: empty, kind: "mute", user: "ada", thread: "t")
                == Command(json: #"{"kind":"mute","user":"ada","thread":"t"}"#))
        #expect(
            try Command(body: empty, kind: "subscribe", user: "ada", topic: "t")
                == Command(json: #"{"kind":"subscribe","user":"ada","topic":"t"}"#))
    }

    @Test(arguments: ["", " \n", "{}", " { } "])
    func aBodyWithoutMembersIsEnoughWhereThePathSaysAll(body: String) throws {
        #expect(try read(body, kind: "seeTray") == Command(user: "ada", .seeTray()))
    }

    @Test(arguments: ["user", "kind"])
    func aMemberThatThePathGivesIsNotGivenTwice(name: String) {
        #expect(throws: Refusal.invalid(field: name, reason: "is given by the path")) {
            try read("{\"title\":\"A\",\"\(name)\":\"x\"}")
        }
    }

    @Test func placesCountTheBytesOfTheBodyWhateverThePathSays() throws {
        for user in ["a", String(repeating: "long", count: 60)] {
            let refusal = #expect(throws: Refusal.self) { try read(#"{"title":"x"}!"#, user: user) }
            guard case .invalid("body", let reason)? = refusal else {
                Issue.record("\(String(describing: refusal))")
                continue
            }
            #expect(reason.contains("byte 14"))
        }
    }

    @Test(arguments: ["7", "[", "{", #"{"title":}"#, #"{"title":"x"},"#, #"{,"title":"x"}"#, "\u{0}"])
    func aBodyThatIsNoObjectIsRefused(body: String) {
        let refusal = #expect(throws: Refusal.self) { try read(body) }
        guard case .invalid(let field, _)? = refusal else { return }
        #expect(field == "body" || field == "title")
    }
}
