import Foundation
import TestSupport
import Testing

@testable import traylog_cli

/// Compares the output of every command with a stored copy, for windows of 80 and 140 columns and for a pipe.
///
/// `TRAYLOG_RENEW_SNAPSHOTS=1` rewrites the files; review the difference.
struct SnapshotTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Snapshots")
    private static let isRenewing = ProcessInfo.processInfo.environment["TRAYLOG_RENEW_SNAPSHOTS"] == "1"

    /// Run in this order on one store.
    ///
    /// `watch` ends with a signal only; FollowingTests has it.
    private static let commands: [[String]] = [
        ["notify", "ada", "--title", "Build failed", "--thread", "build-17", "--category", "ci", "--key", "n1"],
        ["mark-all", "bob", "deleted"],
        ["see", "ada", "--device", "phone"], ["subscribe", "ada", "releases"],
        ["broadcast", "releases", "--title", "Version 4 is out", "--actor", "ci"],
        ["mark", "ada", "read", "n1", "--keys"], ["mark-all", "ada", "archived", "--thread", "build-17"],
        ["mute", "ada", "--thread", "noise"], ["unmute", "ada", "--thread", "noise"],
        ["snooze", "ada", "2", "--until", "2031-01-01T08:00:00Z"], ["wake", "ada", "2"],
        ["edit", "ada", "2", "--title", "Changed"], ["retract", "ada", "3"], ["unsubscribe", "ada", "releases"],
        ["undo", "ada", "6"], ["undo", "ada", "8"], ["hold", "bob", "--actor", "counsel"], ["erase", "bob", "--yes"],
        ["release", "bob"], ["tick", "--now", "2021-01-01T00:00:00Z"],
        ["notify", "ada", "--title", "Deploy?", "--action", "yes=Deploy", "--action", "no=Wait", "--key", "q"],
        ["act", "ada", "q", "yes", "--note", "Now"], ["mute", "ada", "--all", "--until", "2031-01-01T08:00:00Z"],
        ["mutes", "ada"],
        ["tray", "ada"], ["tray", "nobody"], ["inbox", "ada"], ["inbox", "ada", "--archived"],
        ["inbox", "ada", "--limit", "2"], ["threads", "ada"], ["history", "ada"], ["history", "ada", "--csv"],
        ["log", "--limit", "8"], ["log", "--actor", "ci"], ["log", "--text", "nothing has this"], ["users"],
        ["users", "--sort", "unread", "--limit", "1"], ["show", "1"], ["show", "ada", "1"],
        ["audience", "10"], ["audience", "10", "--list", "unread"], ["decision", "ada", "q"], ["audit", "ada"],
        ["diff", "ada", "--from", "4"], ["tree-head"], ["prove", "3"], ["prove-consistency", "2", "5"],
        ["keygen", "log.key", "--name", "log.example"], ["audit", "ada", "--html", "ada.html"],
        ["dossier", "ada", "ada"], ["tree-head", "--sign", "log.key", "--append", "heads"],
        ["check", "ada/dossier.jsonl", "--tree-head", "heads"], ["verify"], ["replay"],
        ["backup", "copy", "--verify"], ["stats"], ["stats", "--prometheus"], ["health"],
        ["export"], ["archive", "files"], ["compact", "--before", "13", "--dry-run"],
        ["compact", "--before", "13", "--archive", "old", "--yes"], ["archives", "old"],
        ["audit", "ada", "--archive", "old"], ["inbox", "ada", "--as-of", "3"], ["restore", "ada.html"],
        ["notify", "ada", "--title", "Water the plants", "--not-before", "2031-01-01T08:00:00Z"], ["scheduled"],
        ["erase", "bob", "--yes"], ["trya", "ada"], ["tray"],
    ]

    private static let lines = [
        #"{"kind":"notify","user":"ada","thread":"t","title":"One","actor":"bob","occurredAt":"2020-01-01T00:00:00Z"}"#,
        #"{"kind":"notify","user":"ada","thread":"t","category":"mail","title":"\#(String(repeating: "long ", count: 30))"}"#,
        #"{"kind":"notify","user":"ada","title":"日本語のタイトル 🔔","summaryArgument":"Alice","level":"critical"}"#,
        #"{"kind":"notify","user":"ada","title":"\u001b[31mred\u202e","body":"<b>&","expiresAt":"2020-06-01T00:00:00Z"}"#,
        #"{"kind":"notify","user":"bob","title":"For bob","actor":"ada","device":"a-device-with-a-long-name"}"#,
    ]

    @Test func everyCommandIsHere() {
        let names = Set(TraylogCommand.configuration.subcommands.map { $0._commandName })
        #expect(names.subtracting(Self.commands.map { $0[0] }).sorted() == ["append", "watch", "witness"])
    }

    @Test(arguments: sized([80, nil], nightly: [80, 140, nil]) as [UInt16?])
    func everyCommandPrintsWhatItsSnapshotHas(columns: UInt16?) throws {
        var printed: [(command: String, text: String)] = []
        try withDirectory { folder in
            func run(_ arguments: [String], input: String = "") throws -> String {
                let arguments = ["--store", "store"] + arguments
                let environment = ["NO_COLOR": "1", "LC_ALL": "C.UTF-8"]
                if let columns, input.isEmpty {
                    return try PseudoTerminal.text(
                        of: arguments, columns: columns, environment: environment, withErrors: true, in: folder)
                }
                let run = try TraylogRun.of(arguments, input: Data(input.utf8), environment: environment, in: folder)
                return run.text + run.errorText + (run.status == 0 ? "" : "(exit \(run.status))\n")
            }
            printed.append(("append -", try run(["append", "-"], input: Self.lines.joined(separator: "\n"))))
            for command in Self.commands {
                let text = Self.settled(try run(command), command[0])
                printed.append((command.joined(separator: " "), text.replacing(folder, with: "/folder")))
                if let columns { Self.expect(text, fits: columns, command) }
            }
        }
        let file = Self.folder.appending(path: columns.map { "columns-\($0).txt" } ?? "pipe.txt")
        let whole = printed.map { "$ traylog \($0.command)\n\($0.text)\n" }.joined()
        if Self.isRenewing {
            try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
            try Data(whole.utf8).write(to: file)
        }
        let wanted = try String(contentsOf: file, encoding: .utf8)
        guard wanted != whole else { return }
        for (found, wanted) in zip(whole.split(separator: "$ traylog "), wanted.split(separator: "$ traylog ")) {
            #expect(found == wanted, "TRAYLOG_RENEW_SNAPSHOTS=1 renews the file, if this is what it should be")
        }
        #expect(whole == wanted)
    }

    /// A table's lines fit the window; words that are longer than a window, such as hashes, are not cut.
    private static func expect(_ text: String, fits columns: UInt16, _ command: [String]) {
        // Made for other programs, or one value a line.
        guard !["export", "stats", "show", "health"].contains(command[0]), !command.contains("--csv") else { return }
        for line in text.split(separator: "\n").map(String.init) {
            let longest = line.split(separator: " ").map { DisplayWidth.of(String($0)) }.max() ?? 0
            #expect(DisplayWidth.of(line) <= max(Int(columns), longest + 16), "\(command): \(line)")
        }
    }

    /// Replaces the parts that differ from run to run (hashes, times, sizes) by fixed ones of the same width.
    private static func settled(_ text: String, _ command: String) -> String {
        var text = text
        func settle(_ pattern: String, _ value: String) {
            guard let expression = try? Regex(pattern) else { return }
            text = text.replacing(expression) { match in
                let found = text[match.range]
                return String(String(repeating: value, count: found.count / value.count + 1).prefix(found.count))
            }
        }
        // A progress bar overwrites itself; its last state remains.
        text = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.split(separator: "\r").last.map { $0.replacing("\u{1B}[K", with: "") } ?? ""
        }.joined(separator: "\n")
        if let stored = try? Regex(#""stored":\{[^}]*\}"#) { text = text.replacing(stored) { _ in #""stored":{}"# } }
        settle("[0-9a-f]{8}\\.archive", "01234567.archive")
        if let size = try? Regex("[0-9.]+ KiB") {
            if command != "stats" { text = text.replacing(size) { _ in "1.0 KiB" } }
        }
        settle("[0-9a-f]{64}", "0123456789abcdef")
        settle(
            "20(2[2-9]|3[0-9])-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{3})?", "2026-01-02 03:04:05.678"
        )
        settle("20(2[2-9]|3[0-9])-[0-9]{2}-[0-9]{2}T[0-9:]{8}", "2026-01-02T03:04:05")
        switch command {
        case "inbox": settle("(0[1-9]|1[0-2])-[0-9]{2} [0-9]{2}:[0-9]{2}(?![0-9:])", "01-02 03:04")
        case "keygen", "tree-head":
            settle("[A-Za-z0-9+/]{40,}=*", "base64")
        case "health":
            // The text depends on the machine's free space; only the number of lines is fixed.
            text = text.split(separator: "\n").map { _ in "(a line)\n" }.joined()
        case "stats", "replay", "backup", "compact", "archives", "archive":
            // Sizes, rates and what the machine has free; columns move with their digits.
            let numbers = "[0-9][0-9,.]*( (s|ms|bytes|KiB|MiB|GiB|%))?"
            if let expression = try? Regex(numbers) { text = text.replacing(expression) { _ in "0" } }
            if let expression = try? Regex(" {2,}") { text = text.replacing(expression) { _ in "  " } }
        default: break
        }
        return text
    }
}
