import Foundation
import Testing
import TraylogFoundation

@testable import Traylog

/// `data` is compared by its JSON value, and kept as given.
@Suite struct DataByValueTests {
    @Test func aRepeatedCommandIsADuplicateWhateverTheFormOfItsData() async throws {
        try await withStorePath { path in
            let forms = [
                #"{"number":17,"big":12345678901234567890123,"name":"é"}"#,
                #" { "name" : "\u00e9", "big": 12345678901234567890123.0, "number" : 1.7e1 } "#,
            ]
            func command(_ data: String) -> Command { .notify("ann", Content(title: "t", data: data), key: "k") }
            for (index, form) in forms.enumerated() {
                let store = try Store.open(path)
                let receipt = try await store.perform(command(form))
                #expect(receipt == (index == 0 ? .appended(1) : .duplicate(1)))
                // As a client sends it, and as it comes out of a decoder.
                let sent = try JSONEncoder().encode(command(form))
                #expect(try await store.perform(JSONDecoder().decode(Command.self, from: sent)) == .duplicate(1))
                #expect(try await store.perform(Command(json: sent)) == .duplicate(1))
                #expect(try await store.inbox(of: "ann").elements.first?.content.data == forms[0])
                let other = command(forms[0].replacing("0123", with: "0124"))
                await #expect(throws: TraylogError.refused(.keyConflict(key: "k", seq: 1))) {
                    try await store.perform(other)
                }
                await store.close()
            }
        }
    }

    @Test func anEditToTheSameValueIsUnchanged() async throws {
        let store = try Store.temporary()
        try await store.perform(.notify("ann", Content(data: #"{"a":1,"b":[2.50]}"#)))
        func edit(_ data: String) -> Command {
            var edit = ContentEdit()
            edit.data = .set(data)
            return Command(user: "ann", .edit(.seq(1), edit))
        }
        #expect(try await store.perform(edit(#"{ "b": [25e-1], "a": 1.0 }"#)) == .unchanged)
        #expect(try await store.perform(edit(#"{"b":[2.5],"a":-1}"#)) == .appended(2))
        #expect(try await store.inbox(of: "ann").elements.first?.content.data == #"{"b":[2.5],"a":-1}"#)
        await store.close()
    }

    @Test func encodedDataIsTheSameTextInEveryProcess() throws {
        var content = Content()
        let value = Dictionary(uniqueKeysWithValues: (0..<40).map { ("key\($0)", "/\($0)") })
        try content.encodeData(value)
        let names = value.keys.sorted()
        #expect(content.data == "{" + names.map { "\"\($0)\":\"\(value[$0]!)\"" }.joined(separator: ",") + "}")
    }
}
