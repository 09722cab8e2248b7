import Foundation
import Testing
@_spi(JSON) import Traylog
@_spi(JSON) import TraylogDomain
@testable import traylog_cli

struct LineReaderTests {
    /// The lines of a file; nil for one that is too long.
    private func lines(_ content: Data) throws -> [String?] {
        try withDirectory { directory in
            let path = directory + "/lines"
            try content.write(to: URL(filePath: path))
            var reader = LineReader(try Descriptor.reading(path))
            var result: [String?] = []
            while true {
                switch reader.takeLine() {
                case .whole(let range): result.append(String(decoding: reader.bytes[range], as: UTF8.self))
                case .tooLong: result.append(nil)
                case nil:
                    if reader.isAtEnd { return result }
                    try reader.fill()
                }
                #expect(reader.lineNumber == result.count)
            }
        }
    }

    @Test(arguments: [
        ("", []), ("\n", [""]), ("a", ["a"]), ("a\n", ["a"]), ("a\r\n", ["a"]), ("a\r", ["a"]),
        ("a\n\nb", ["a", "", "b"]),
        ("\r\n\r\n", ["", ""]), ("a\rb\n", ["a\rb"]),
    ])
    func linesEndWithOrWithoutCarriageReturn(content: String, expected: [String]) throws {
        #expect(try lines(Data(content.utf8)) == expected)
    }

    @Test(arguments: ["\n", "\r\n", ""])
    func theLongestLineIsTakenAndALongerOneLetGo(end: String) throws {
        let longest = String(repeating: "x", count: Limits.commandLineBytes)
        #expect(try lines(Data("a\n\(longest)\(end)".utf8)) == ["a", longest])
        #expect(try lines(Data("a\n\(longest)x\(end)".utf8)) == ["a", nil])
    }

    @Test func aHugeLineNeitherStopsNorGrowsTheReader() throws {
        let huge = Data(repeating: UInt8(ascii: "x"), count: 5 * Limits.commandLineBytes)
        #expect(try lines(Data("a\n".utf8) + huge + Data("\nb\n".utf8) + huge) == ["a", nil, "b", nil])
    }

    @Test func linesCrossBlocksWhole() throws {
        let expected = (0..<3_000).map { String(repeating: "y", count: $0 % 701) + "\($0)" }
        #expect(try lines(Data(expected.joined(separator: "\n").utf8)) == expected)
    }
}
