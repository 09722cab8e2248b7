import TestSupport
import Testing

@testable import traylog_cli

/// The program fits its output into windows of 80 and 140 columns.
struct WindowTests {
    @Test(arguments: sized([80], nightly: [80, 140]) as [UInt16])
    func everyErrorFitsTheWindowAndIsOneLineInAPipe(columns: UInt16) throws {
        try withStore { store in
            try store.append(#"{"kind":"notify","user":"ada","title":"A"}"#, #"{"kind":"notify","user":"ada"}"#)
            let mistakes = [
                ["mark", "ada", "eaten", "1"], ["log", "--kind", "nothing"],
                ["notify", "ada", "--level", "very-important-indeed-and-more"],
                ["snooze", "ada", "1", "--until", "never"],
                ["check", "x"], ["tray", "ada", "--as-of", "the-day-after-tomorrow-or-so-maybe-never"],
                ["log", "--since", "whenever it was that this happened, some time ago"], ["inbox"],
                ["inbox", "ada", "--nothing"], ["undo", "ada", "99"], ["show", "99"], ["backup", store.directory],
            ]
            for mistake in mistakes {
                let text = try PseudoTerminal.text(
                    of: mistake + ["--store", store.directory], columns: columns, withErrors: true)
                let lines = text.split(separator: "\n").map(String.init)
                #expect(!lines.isEmpty, "\(mistake)")
                for line in lines {
                    // A word that is longer than a line, such as a path, is left whole.
                    let longest = line.split(separator: " ").map { DisplayWidth.of(String($0)) }.max() ?? 0
                    #expect(DisplayWidth.of(line) <= max(Int(columns), longest + 9), "\(mistake): \(line)")
                }
                let piped = try TraylogRun.of(mistake + ["--store", store.directory])
                let first = try #require(piped.errorLines.first, "\(mistake)")
                let shown = lines.joined(separator: " ").split(separator: " ").joined(separator: " ")
                #expect(shown.hasPrefix(first.split(separator: " ").joined(separator: " ")), "\(mistake)")
            }
        }
    }

    @Test(arguments: sized([80], nightly: [80, 140]) as [UInt16])
    func everyHelpFitsTheWindow(columns: UInt16) throws {
        for command in TraylogCommand.configuration.subcommands {
            let arguments = [command._commandName, "--help"]
            let text = try PseudoTerminal.text(of: arguments, columns: columns)
            for line in text.split(separator: "\n") {
                #expect(DisplayWidth.of(String(line)) <= Int(columns), "\(arguments): \(line)")
            }
        }
    }
}
