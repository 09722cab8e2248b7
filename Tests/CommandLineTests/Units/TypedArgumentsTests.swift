import ArgumentParser
import Foundation
import Testing
@_spi(Operations) import Traylog

@testable import traylog_cli

/// How words become arguments.
struct TypedArgumentsTests {
    private struct Dump: Decodable {
        var command: Command
        struct Command: Decodable {
            var subcommands: [Command]?
            var arguments: [Argument]?
        }
        struct Argument: Decodable {
            var kind: String
            var names: [Name]?
        }
        struct Name: Decodable {
            var kind: String
            var name: String
        }
    }

    @Test func everyOptionThatTakesAValueIsKnown() throws {
        var (options, flags): (Set<String>, Set<String>) = ([], [])
        func walk(_ command: Dump.Command) {
            for argument in command.arguments ?? [] {
                let names = (argument.names ?? []).filter { $0.kind == "long" }.map { "--\($0.name)" }
                if argument.kind == "option" { options.formUnion(names) } else { flags.formUnion(names) }
            }
            (command.subcommands ?? []).forEach(walk)
        }
        walk(try JSONDecoder().decode(Dump.self, from: Data(TraylogCommand._dumpHelp().utf8)).command)
        #expect(options == TypedArguments.valued)
        #expect(options.isDisjoint(with: flags))
    }

    @Test func aValueIsJoinedToItsOption() {
        func words(_ words: String...) -> [String] { TypedArguments(words.map { Array($0.utf8) }).words }
        #expect(words("notify", "a", "--title", "-5") == ["notify", "a", "--title=-5"])
        #expect(words("--json", "--title", "x") == ["--json", "--title", "x"])
        #expect(words("--title", "--", "--body", "-") == ["--title=--", "--body", "-"])
        #expect(words("--", "--title", "-5") == ["--", "--title", "-5"])
        #expect(words("--title") == ["--title"])
    }

    @Test func aNameIsQuotedForEachShell() {
        #expect(UserCompletion.offer("a$(x)'b:c\\", to: .bash) == #"'a$(x)'\''b:c\'"#)
        #expect(UserCompletion.offer("a$(x)'b:c\\", to: .zsh) == #"a$(x)'b\:c\\"#)
        #expect(UserCompletion.offer("a$(x)'b:c\\", to: .fish) == "a$(x)'b:c\\")
    }

    @Test(arguments: [
        (#"a\$H"#, "a$H"), ("'a b", "a b"), (#""a\"b\c"#, #"a"b\c"#), (#"a'b'"c""#, "abc"), ("", ""), (#"a\"#, "a"),
    ])
    func aWordIsReadWithoutItsQuotes(word: String, text: String) {
        #expect(ShellWord.text(of: word) == text)
    }

    @Test func anAgeStopsAtTheLargestNumbers() {
        let now = Timestamp(milliseconds: 1_795_000_000_000)
        #expect(Age(of: Timestamp(milliseconds: .min), at: now).milliseconds == .max)
        #expect(Age(of: Timestamp(milliseconds: .max), at: Timestamp(milliseconds: .min)).reversed.milliseconds == .max)
        #expect(Age(of: now, at: now).milliseconds == 0)
    }
}
