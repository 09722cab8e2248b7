import Foundation
import Testing

@testable import traylog_cli

/// Output for people.
struct TextOutputTests {
    private static let nasty = #"\u001b[31m\u0007\n\r\u0000\u009b2J\u202e"#

    private func withNastyTray(_ body: (TestStore) throws -> Void) throws {
        try withStore { store in
            try store.append(
                #"{"kind":"notify","user":"ada","title":"\#(Self.nasty)","body":"\#(Self.nasty)","thread":"日本語 👩‍👩‍👧‍👦"}"#,
                #"{"kind":"notify","user":"ada","title":"read","key":"k"}"#,
                #"{"kind":"mark","user":"ada","as":"read","items":["k"]}"#,
                #"{"kind":"edit","user":"ada","item":1,"title":"\#(Self.nasty)"}"#)
            try body(store)
        }
    }

    private static let views = [
        ["tray", "ada"], ["inbox", "ada"], ["threads", "ada"], ["history", "ada"], ["log"], ["users"], ["stats"],
    ]

    @Test(arguments: views)
    func noControlCharacterComesThrough(view: [String]) throws {
        try withNastyTray { store in
            let run = try TraylogRun.of(view + ["--store", store.directory])
            #expect(run.status == 0)
            let controls = run.text.unicodeScalars.filter {
                $0 != "\n" && ($0.properties.generalCategory == .control || $0 == "\u{202E}")
            }
            #expect(controls.isEmpty)
        }
    }

    @Test(arguments: views, [40, 80, 132])
    func linesFitTheTerminal(view: [String], columns: Int) throws {
        try withNastyTray { store in
            let run = try TraylogRun.of(
                view + ["--store", store.directory], environment: ["COLUMNS": "\(columns)"])
            // Numbers, times and kinds are never cut, so narrow windows may wrap.
            guard columns >= 80 else { return #expect(run.status == 0) }
            #expect(run.lines.allSatisfy { DisplayWidth.of($0) <= columns })
        }
    }

    @Test func unreadItemsAreMarkedWithoutColor() throws {
        try withNastyTray { store in
            let lines = try store.run("inbox", "ada").lines
            #expect(lines.count == 3)
            #expect(!lines[1].contains("●"))
            #expect(lines[2].contains("● new"))
        }
    }

    @Test func timesAreLocal() throws {
        try withStore { store in
            try store.append(#"{"kind":"notify","user":"ada","occurredAt":"2026-01-01T11:30:00Z"}"#)
            #expect(try store.run("show", "1").text.contains("2026-01-01 11:30:00"))
            let east = try store.run("show", "1", environment: ["TZ": "XXX-13"])
            #expect(east.text.contains("2026-01-02 00:30:00"))
        }
    }

    @Test func aListOfItemsHasTheTimesOfTheLogAndNoneThatASenderClaims() throws {
        try withStore { store in
            try store.append(#"{"kind":"notify","user":"ada","occurredAt":"2004-01-01T11:30:00Z"}"#)
            for columns in ["80", "140"] {
                let text = try store.run("inbox", "ada", environment: ["COLUMNS": columns]).text
                #expect(text.contains("RECORDED (UTC)") && !text.contains("2004"), "\(text)")
            }
            #expect(try store.run("show", "ada", "1").text.contains("occurred       2004-01-01 11:30:00 UTC"))
        }
    }

    @Test func colorNeedsATerminalWithoutNO_COLOR() throws {
        try withNastyTray { store in
            let arguments = ["inbox", "ada", "--store", store.directory]
            let colored = try PseudoTerminal.text(of: arguments, columns: 100, environment: ["TERM": "xterm"])
            #expect(colored.contains("\u{1B}[1m"))
            let plain = try PseudoTerminal.text(
                of: arguments, columns: 100, environment: ["TERM": "xterm", "NO_COLOR": "1"])
            #expect(!plain.contains("\u{1B}"))
            #expect(plain.contains("● new"))
            let piped = try store.run("inbox", "ada", environment: ["TERM": "xterm", "COLUMNS": "100"])
            #expect(piped.text == plain)
        }
    }

    @Test func aTableIsAsWideAsTheWindow() throws {
        try withStore { store in
            try store.append(#"{"kind":"notify","user":"ada","title":"\#(String(repeating: "日本", count: 100))"}"#)
            for columns in [70, 100, 140] as [UInt16] {
                let text = try PseudoTerminal.text(
                    of: ["inbox", "ada", "--store", store.directory], columns: columns,
                    environment: ["NO_COLOR": "1", "COLUMNS": "50"])
                let widest = text.split(separator: "\n").map { DisplayWidth.of(String($0)) }.max() ?? 0
                #expect((Int(columns) - 1...Int(columns)).contains(widest))
            }
        }
    }

    @Test func aPageSaysHowToGoOn() throws {
        try withNastyTray { store in
            let last = try #require(try store.run("inbox", "ada", "--limit", "1").lines.last)
            #expect(last.hasPrefix("more: --cursor c1-"))
            #expect(try store.run("inbox", "nobody").text == "no items\n")
            #expect(try store.run("threads", "nobody").text == "no threads\n")
        }
    }
}
