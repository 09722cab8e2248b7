import TestSupport
import Testing
import TraylogDomain

@_spi(Operations) @_spi(JSON) @testable import Traylog

/// Lines that differ from the exported ones.
@Suite struct WrongLineTests {
    private func withLines(_ body: ([String], String) throws -> Void) throws {
        try withStorePath { path throws in
            try withStore(path) { store throws in
                var edit = ContentEdit()
                edit.title = .set("Zwei")
                _ = try store.perform([
                    Command(user: "ann", .notify(Content(title: "One", expiresAt: Timestamp(milliseconds: 9)))),
                    Command(user: nil, .broadcast(topic: "t", Content(title: "Two"))),
                    Command(user: "bob", .subscribe(topic: "t")),
                    Command(user: nil, .edit(.seq(2), edit)),
                    Command(user: "ann", .mark(.read, [.seq(1)]), occurredAt: Timestamp(milliseconds: 5)),
                ])
            }
            try body(try exported(path).map { String(decoding: $0, as: UTF8.self) }, path + "-2")
        }
    }

    /// What each change of a line is refused for, and that nothing was made of it.
    @Test(arguments: [
        (0, #""seq":1"#, #""seq":2"#, "seq"),
        (0, #""seq":1"#, #""seq":"1""#, "seq"),
        (0, #""seq":1,"#, "", "seq"),
        (0, #""kind":"notified""#, #""kind":"marked""#, "stored.payload"),
        (0, #""kind":"notified""#, #""kind":"poked""#, "kind"),
        (0, #""kind":"notified""#, #""kind":"erased""#, "expiresAt"),
        (0, #""user":"ann""#, #""user":"bob""#, "user"),
        (0, #""user":"ann","#, "", "user"),
        (0, #""title":"One""#, #""title":"One","title":"One""#, "title"),
        (0, #""title":"One""#, #""title":"One","body":"B""#, "body"),
        (0, #""title":"One""#, #""title":["One"]"#, "title"),
        (0, #""stored":{"#, #""sorted":{"#, "stored"),
        (0, #""stored":{"#, #""stored":5,"later":{"#, "stored"),
        (0, #""stream":1"#, #""stream":2"#, "stored.stream"),
        (0, #""stream":1"#, #""stream":0"#, "stored.stream"),
        (0, #""stream":1"#, #""stream":4294967296"#, "stored.stream"),
        (0, #""salt":""#, #""salt":"AAAA"#, "stored.salt"),
        (0, #""salt":""#, #""salt":"*"#, "stored.salt"),
        (0, #""payload":""#, #""digest":""#, "stored.payload"),
        (0, #""payload":""#, #""payload":"A"#, "stored.payload"),
        (0, #""payload":""#, #""payload":"AAAA"#, "stored.payload"),
        (0, #""crc":"#, #""crc":1"#, "stored.crc"),
        (0, #""last":5"#, #""last":0"#, "stored.last"),
        (0, #"}}"#, #"}} ."#, "line"),
        (0, #"}}"#, #"}"#, "line"),
        (0, #"{"seq""#, #"["seq""#, "line"),
        (1, #""topic":"t""#, #""topic":"u""#, "topic"),
        (1, #""stream":2"#, #""stream":1"#, "stored.stream"),
        (2, #""stream":3"#, #""stream":2"#, "stored.stream"),
        (2, #""stream":3"#, #""stream":4"#, "stored.stream"),
        (3, #""stream":2"#, #""stream":3"#, "stored.stream"),
        (3, #""item":2"#, #""item":1"#, "item"),
        (4, #""occurredAt":"1970"#, #""occurredAt":"1971"#, "stored.crc"),
        (4, #""occurredAt":"1970-01-01T00:00:00.005Z","#, "", "stored.crc"),
        (4, #""recordedAt":"2"#, #""recordedAt":"1"#, "recordedAt"),
        (4, #""recordedAt":"2"#, #""recordedAt":"3"#, "stored.crc"),
        (4, #""items":[1]"#, #""items":[1,2]"#, "items"),
        (4, #""last":5"#, #""last":6"#, "stored.last"),
    ])
    func aChangedLineOfAnExportIsRefused(index: Int, old: String, new: String, field: String) throws {
        try withLines { lines, target throws in
            var lines = lines
            #expect(lines[index].contains(old), "\(lines[index])")
            lines[index].replace(old, with: new, maxReplacements: 1)
            let refusal = try refusal { try restore(lines.map { Array($0.utf8) }, to: target) }
            #expect(refusal?.field == field, "\(lines[index]): \(String(describing: refusal))")
            #expect(try failure { try StoreReader.open(target) }?.code == .notFound)
        }
    }

    @Test func linesOfAnExportInAnotherOrderOrMissingAreRefused() throws {
        try withLines { lines, target throws in
            let lines = lines.map { Array($0.utf8) }
            for wrong in [
                [lines[1]], [lines[0], lines[0]], [lines[0], lines[2]], Array(lines.dropLast()), lines + [lines[4]],
            ] {
                #expect(try refusal { try restore(wrong, to: target) } != nil)
            }
            #expect(try restore(lines, to: target).head == 5)
        }
    }
}
