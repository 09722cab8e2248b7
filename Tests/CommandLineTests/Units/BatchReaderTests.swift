import Foundation
import Testing
import Traylog
import TraylogDomain
@testable import traylog_cli

struct BatchReaderTests {
    private func batches(_ content: String, stopsAtRefusal: Bool = false) throws -> [[Batch.Entry]] {
        try withDirectory { directory in
            let path = directory + "/commands"
            try Data(content.utf8).write(to: URL(filePath: path))
            var reader = BatchReader(
                try Descriptor.reading(path), timeoutMilliseconds: 0, stopsAtRefusal: stopsAtRefusal)
            var result: [[Batch.Entry]] = []
            while true {
                let batch = try reader.next(mayWait: true)
                if !batch.isEmpty { result.append(batch.entries) }
                if batch.isEmpty, reader.isAtEnd { return result }
            }
        }
    }

    private let command = #"{"kind":"seeTray","user":"ada"}"#

    @Test func aBatchHasAThousandCommandsAtMost() throws {
        let content = Array(repeating: command, count: 2_500).joined(separator: "\n")
        #expect(try batches(content).map(\.count) == [1_000, 1_000, 500])
    }

    @Test func blankLinesCountInLineNumbersOnly() throws {
        let entries = try batches("\n\(command)\r\n  \t\r\n\n\(command)").flatMap(\.self)
        #expect(entries.map(\.line) == [2, 5])
    }

    @Test func aBatchReaderStopsAtARefusal() throws {
        let entries = try batches("\(command)\nno\n\(command)\n", stopsAtRefusal: true).flatMap(\.self)
        #expect(entries.map(\.line) == [1, 2])
        #expect(throws: Refusal.self) { try entries[1].command.get() }
    }

    @Test func longLinesMakeSmallBatches() throws {
        let long = String(repeating: " ", count: 1_000_000) + command
        #expect(try batches(Array(repeating: long, count: 12).joined(separator: "\n")).map(\.count) == [5, 5, 2])
    }
}
