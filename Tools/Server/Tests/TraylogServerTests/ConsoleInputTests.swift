import HTTPTypes
import HummingbirdTesting
import Testing
@_spi(Operations) import Traylog

@testable import TraylogServer
@testable import TraylogServerConsole

/// Asks every page of the console with every odd value that its address or its form can have, on a store of hostile items: whatever
/// would trap ends this process.
struct ConsoleInputTests {
    private static let numbers = [
        "0", "1", "2", "-1", "+1", "007", "1.0", "1e3", "1,000", "1,00", "9007199254740993", "9223372036854775807",
        "9223372036854775808", "18446744073709551614", "18446744073709551615", "18446744073709551616",
        "18,446,744,073,709,551,615", "340282366920938463463374607431768211456", "0x10", "１２", "NaN", "inf",
    ]
    private static let times = [
        "0000-01-01", "9999-12-31T23:59:59Z", "-9999-01-01", "2026-02-30", "4294967295w", "99999999999w", "0s",
        "2026-11-22 24:00", "today", "yesterday", "now", "2026-11-22T09:00:00+23:59",
    ]
    private static let texts = [
        "", " ", "\u{0}", "\u{301}", "\"\u{301}}}}", "\u{feff}", "\u{202e}", "a/b", "..", "{{form}}", "<script>", "\n",
        "key:x", "e\u{301}", "\u{10ffff}", "🇩🇪👩‍👩‍👧", "me", "ann", "unread", "notified", "time-sensitive", "archived",
        String(repeating: "x", count: 257), String(repeating: "é", count: 1_500),
    ]
    /// As they stand in an address, where their encoding is wrong or odd.
    private static let encodings = ["%", "%2", "%zz", "%ff", "%c0%80", "%ed%a0%80", "+", "%2f%2f", "%00"]

    private static let values =
        (numbers + times + texts).map { PercentEncoding.encode($0) } + encodings

    /// Operations, and the fields of the form of each.
    private static let operations = [
        ("compactions", ["before", "keepDays", "archive", "confirm"]), ("erasures", ["user", "confirm", "archive"]),
        ("backups", ["directory"]), ("x", ["confirm"]),
    ]

    private static let data = [
        #"{"a":"\u0301}}}}"}"#, "{\"a\":\"\u{301}}}}}\"}", "{\"\u{301}\":\"\\\\\u{301}\"}", "[]", "{}", "[[],{}]",
        "\"\u{feff}\"",
        "1e400", "-0", "[\"\\\"\u{301}\"]", String(repeating: "[", count: 60) + String(repeating: "]", count: 60),
        "[" + Array(repeating: "[1,[2,{\"a\":[3]}]]", count: 200).joined(separator: ",") + "]",
    ]

    /// Items 1 and following are Ann's, and the last event is a broadcast.
    private static func fill(_ store: ServedStore) async throws {
        let titles = ["\u{feff}Hello", "\u{301}", "a\u{202e}b", "x\u{7f}\u{85}", "{{form}}", "<script>", "\r\n \t"]
        for (index, data) in data.enumerated() {
            let title = JSONValue.string(titles[index % titles.count])
            let body = JSONValue.object([
                ("title", title), ("thread", "\u{301}"), ("category", "\"\u{301}"), ("key", .string("k\(index)")),
                ("data", .raw(Array(data.utf8))),
            ])
            let answer = try await store.send(
                .post, "/v1/users/ann/notifications", String(decoding: body.bytes, as: UTF8.self))
            #expect(answer.status == .created, "\(data)")
        }
        _ = try await store.send(.put, "/v1/users/ann/subscriptions/t", "{}")
        _ = try await store.send(.post, "/v1/users/ann/seen", "{}")
        _ = try await store.send(.post, "/v1/users/ann/marks", #"{"as":"read","items":[1]}"#)
        #expect(try await store.send(.post, "/v1/topics/t/broadcasts", #"{"title":"x"}"#).status == .created)
    }

    /// A variable's usual value.
    private static func usual(_ variable: String) -> String {
        switch variable {
        case "u": "ann"
        case "id": "compactions"
        default: "1"
        }
    }

    private static func path(_ page: ConsolePage, _ variable: String? = nil, _ value: String = "") -> String {
        page.route.path.text.replacing(#/\{([^}]*)\}/#) { match in
            match.1 == variable.map { $0[...] } ? value : usual(String(match.1))
        }
    }

    private static func check(_ answer: TestResponse, _ request: String) {
        #expect(answer.status.code < 500, "\(request): \(answer.status)")
        // The longest are lists of items with titles and bodies of the greatest length.
        #expect(answer.body.readableBytes < 1 << 20, "\(request): \(answer.body.readableBytes) bytes")
        // The bottom of a page that fails says so, because its status was sent before.
        let text = String(buffer: answer.body)
        #expect(!text.contains("Internal error"), "\(request)")
        // The pages' own scripts have a source; what is saved as a file is no page.
        let isMarkup = answer.headers[.contentType]?.hasPrefix("text/html") == true && text.contains("<script>")
        #expect(!isMarkup, "\(request) shows text as markup")
    }

    private static func each(_ requests: [String], _ ask: @escaping @Sendable (String) async throws -> Void)
        async throws
    {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, request) in requests.enumerated() {
                if index >= 8 { try await group.next() }
                group.addTask { try await ask(request) }
            }
            try await group.waitForAll()
        }
    }

    @Test func everyPageAnswersWhateverItsAddressSays() async throws {
        try await ServedStore.with(parts: [.console]) { store async throws in
            try await Self.fill(store)
            let visitor = try await ConsoleVisitor(store)
            var addresses: [String] = []
            for page in ConsolePage.all where page.route.method == .get {
                addresses.append(Self.path(page))
                for variable in page.route.path.variables {
                    addresses += Self.values.map { Self.path(page, variable, $0) }
                }
                for field in page.route.query {
                    addresses += Self.values.map { "\(Self.path(page))?\(field)=\($0)" }
                }
            }
            for item in 1...Self.data.count {
                addresses += ["/console/users/ann/items/\(item)", "/console/events/\(item)"]
            }
            try await Self.each(addresses) { address in
                Self.check(try await visitor.get(address), address)
            }
        }
    }

    @Test func everyFormAnswersWhateverItsFieldsSay() async throws {
        try await ServedStore.with(parts: [.console]) { store async throws in
            try await Self.fill(store)
            let visitor = try await ConsoleVisitor(store)
            for page in ConsolePage.all where page.route.method == .post && page.route.path.text != "/console/sign-out"
            {
                for (id, names) in page.route.path.variables.contains("id") ? Self.operations : [("", page.form)] {
                    let path = Self.path(page, id.isEmpty ? nil : "id", id)
                    for field in page.form where names.contains(field) {
                        // A directory would be written to.
                        for value in Self.values where field != "directory" || !value.hasPrefix("%2F") {
                            var fields = [(name: field, value: value)]
                            if field == "confirm" { fields.append((name: "before", value: value)) }
                            if field == "archive" { fields.append((name: "before", value: "1")) }
                            Self.check(try await visitor.send(path, fields), "\(path) \(field)=\(value)")
                        }
                    }
                }
            }
        }
    }

    /// What scripts write into a page they show as the server does.
    @Test func scriptsShowTheSameCharactersByTheirNumbers() throws {
        let script = try #require(try Pages().asset("dom.js").map { String(decoding: $0.bytes, as: UTF8.self) })
        let pattern = try #require(script.firstMatch(of: /const unseen = \/(.*)\/gu;/)).1
        func number(_ text: Substring) -> UInt32? { UInt32(text.filter { !"u{}\\".contains($0) }, radix: 16) }
        var listed: Set<UInt32> = []
        for range in pattern.matches(of: /(\\u(?:\{\w+\}|\w{4}))(?:-(\\u(?:\{\w+\}|\w{4})))?/) {
            let first = try #require(number(range.1))
            listed.formUnion(first...(try range.2.map { try #require(number($0)) } ?? first))
        }
        let hidden = (UInt32(0)...0x10_ffff).filter { value in
            ![0x09, 0x0a].contains(value) && (Unicode.Scalar(value).map(VisibleText.isHidden) ?? false)
        }
        #expect(listed == Set(hidden))
    }

    @Test func prettyJSONKeepsEveryToken() {
        for json in Self.data {
            let pretty = PrettyJSON.text(json)
            #expect((try? JSONValue(json: Array(pretty.utf8))) == (try? JSONValue(json: Array(json.utf8))), "\(json)")
            #expect(pretty.utf8.count <= json.utf8.count * 36 + 36, "\(json)")
        }
        // What is no JSON is shown all the same.
        for text in ["}}}}", "]", "\"", "{\"a\":1}}}", "\\"] { #expect(PrettyJSON.text(text).contains(text.prefix(1))) }
        #expect(PrettyJSON.text(#"{"a":[1,{}],"b":"c"}"#) == "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": \"c\"\n}")
    }
}
