import Testing

@testable import TraylogDomain

@Test func smoke() throws {
    let line = #"{"kind":"notify","user":"ada","title":"a\u00e9\ud83d\ude00\n","data":{"a":[1,2,{"b":null}]},"occurredAt":"2004-04-15T14:56:01Z"}"#
    let command = try Command(json: line.utf8Span.span)
    #expect(command.occurredAt?.rfc3339 == "2004-04-15T14:56:01.000Z")
    guard case .notify(let content) = command.action else { return }
    #expect(content.title == "aé😀\n")
    #expect(content.data == #"{"a":[1,2,{"b":null}]}"#)
    var writer = JSONWriter()
    writer.write(Event(seq: 1, recordedAt: command.occurredAt!, user: "ada", body: .notified(content)))
    print(String(decoding: writer.bytes, as: UTF8.self))
}
