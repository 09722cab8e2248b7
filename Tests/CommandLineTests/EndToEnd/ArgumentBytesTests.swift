import Foundation
import TestSupport
import Testing

/// What a shell or a script hands over is taken as it is, or refused by name.
struct ArgumentBytesTests {
    /// Runs the program from a shell, which can pass any bytes: `printf` makes `\351` one.
    private func shell(_ store: String, _ words: String, variable: String? = nil) throws -> TraylogRun {
        let program = try #require(try TraylogRun.process([]).executableURL?.path)
        return try withDirectory { directory in
            let process = Process()
            process.executableURL = URL(filePath: "/bin/bash")
            let setting = variable.map { "export TRAYLOG_STORE=\($0); " } ?? ""
            process.arguments = ["-c", "\(setting)exec '\(program)' \(words) >'\(directory)/out' 2>'\(directory)/err'"]
            process.environment = ["PATH": "/usr/bin:/bin", "TZ": "UTC", "TRAYLOG_STORE": store]
            try process.run()
            process.waitUntilExit()
            return TraylogRun(
                status: process.terminationStatus, output: try Data(contentsOf: URL(filePath: directory + "/out")),
                errors: try Data(contentsOf: URL(filePath: directory + "/err")))
        }
    }

    @Test(arguments: [
        (#"notify $'b\xe9' --title T"#, "argument 2"), (#"notify ann --title $'caf\xe9'"#, "'--title'"),
        (#"notify ann --title=$'caf\xe9'"#, "'--title'"), (#"notify ann --key $'caf\xe9' --title T"#, "'--key'"),
        (#"--store $'/tmp/\xe9' tray ann"#, "'--store'"), (#"tray -- $'b\xe9'"#, "argument 3"),
        (#"inbox ann --thread $'\xff'"#, "'--thread'"),
        (#"check $'\xe9' --tree-head x"#, "argument 2"), (#"log --json --user $'\xc3'"#, "'--user'"),
        (#"$'\xe9'"#, "argument 1"),
    ])
    func bytesThatAreNoTextAreRefusedByName(words: String, name: String) throws {
        try withStore { store in
            let run = try shell(store.directory, words)
            #expect(
                run.status == 64 && run.errorText.contains(name) && run.errorText.contains("UTF-8"), "\(run.errorText)")
            #expect(!FileManager.default.fileExists(atPath: store.directory + "/data.mdb"))
        }
    }

    @Test func aVariableThatIsNoTextIsRefusedByName() throws {
        try withStore { store in
            let run = try shell(store.directory, "tray ann", variable: #"$'/tmp/\xe9'"#)
            #expect(run.status == 64 && run.errorText.contains("TRAYLOG_STORE is not UTF-8"), "\(run.errorText)")
        }
    }

    @Test(arguments: ["-50 %", "-5", "--json", "--help", "-h", "--version", "--", "--title", "-"])
    func anOptionTakesTheNextWordWhateverItBeginsWith(title: String) throws {
        try withStore { store in
            let run = try store.run("notify", "ann", "--title", title)
            #expect(run.status == 0 && run.text == "appended as event 1\n", "\(run.text)\(run.errorText)")
            #expect(try store.run("log", "--json").outputs("title") == [.text(title)])
        }
    }

    @Test func aNameThatBeginsWithADashStandsBehindTwo() throws {
        try withStore { store in
            let run = try store.run("tray", "-ann")
            #expect(run.status == 64 && run.errorText.contains("behind '--'"), "\(run.errorText)")
            #expect(try store.run("notify", "--title", "T", "--", "-ann").status == 0)
            #expect(try store.run("tray", "--json", "--", "-ann").outputs("total") == [.number(1)])
            #expect(try store.run("tray", "--unknown", "ann").errorText.contains("behind") == false)
        }
    }

    @Test(arguments: [
        ["tray", "ann", "--wait", "99999999999"], ["users", "--limit", "-1"], ["log", "--limit", "0"],
        ["compact", "--keep-days", "9999999"],
        ["compact", "--keep-days", "18446744073709551615"], ["stats", "--watch", "0"], ["stats", "--watch", "86401"],
        ["log", "--limit", "99999999999999999999999"], ["compact", "--before", "1", "--retain", "a=99999999999"],
        ["notify", "ann", "--summary-count", "4294967296"], ["notify", "ann", "--expected-revision", "-1"],
    ])
    func aNumberOutOfRangeIsRefusedInWords(words: [String]) throws {
        try withStore { store in
            try store.append(#"{"kind":"notify","user":"ada","title":"One"}"#)
            let run = try TraylogRun.of(["--store", store.directory] + words)
            let option = try #require(words.last { $0.hasPrefix("--") })
            #expect(run.status == 64 && run.errorText.contains(option), "\(run.status) \(run.errorText)")
        }
    }

    // MARK: Completions

    private static let names = [
        "a$(touch ran)", "a`touch ran`", "a$HOME", #"a"quoted""#, "a'b", #"a\b"#, "a b", "a~", "a{b,c}", "a*", "a;b",
        "a|b", "a:b", "abe",
    ]

    /// Presses Tab in bash behind `traylog tray WORD`.
    private func offers(_ word: String, of store: TestStore) throws -> [String] {
        let program = try #require(try TraylogRun.process([]).executableURL?.path)
        return try withDirectory { directory in
            try TraylogRun.of(["--generate-completion-script", "bash"]).output
                .write(to: URL(filePath: directory + "/completion"))
            let process = Process()
            process.executableURL = URL(filePath: "/bin/bash")
            process.currentDirectoryURL = URL(filePath: directory)
            process.arguments = [
                "-c",
                """
                source completion; function=$(complete -p traylog | sed "s/.*-F \\([^ ]*\\).*/\\1/")
                COMP_WORDS=("$1" tray "$2"); COMP_CWORD=2; COMP_LINE="traylog tray $2"; COMP_POINT=${#COMP_LINE}
                "$function" traylog "$2" tray; printf '%s\\n' "${COMPREPLY[@]}" >offered; ls >files
                """, "-", program, word,
            ]
            process.environment = [
                "PATH": "/usr/bin:/bin", "TRAYLOG_STORE": store.directory, "HOME": "/home-of-nobody",
            ]
            process.standardError = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            let files = try String(contentsOfFile: directory + "/files", encoding: .utf8)
            #expect(!files.contains("ran"), "a name was run")
            let offered = try String(contentsOfFile: directory + "/offered", encoding: .utf8)
            return offered.split(separator: "\n").map(String.init)
        }
    }

    @Test func tabOffersNamesAsTheyAreAndRunsNothing() throws {
        try withStore { store in
            for name in Self.names { try store.append(#"{"kind":"notify","user":\#(Self.json(name)),"title":"T"}"#) }
            #expect(try Set(offers("a", of: store)) == Set(Self.names))
            #expect(try offers(#"a\$H"#, of: store) == ["a$HOME"])
            #expect(try offers("'a$H", of: store) == ["a$HOME"])
            #expect(try offers(#"a\ "#, of: store) == ["a b"])
        }
    }

    private static func json(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
