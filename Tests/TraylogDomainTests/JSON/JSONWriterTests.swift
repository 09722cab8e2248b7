import Foundation
import Testing

@testable import TraylogDomain
@_spi(JSON) @testable import TraylogJSON

@Suite struct JSONWriterTests {
    private let time = Timestamp(milliseconds: 1_082_040_961_000)
    private let later = Timestamp(milliseconds: 1_082_040_961_250)

    /// The kind and what follows the user, such as `traySeen,"upTo":5}`.
    private func event(_ body: Event.Body) -> String {
        let whole = json { $0.write(Event(seq: 7, recordedAt: time, revision: 2, user: "u", body: body)) }
        let start = #"{"seq":7,"revision":2,"recordedAt":"2004-04-15T14:56:01.000Z","kind":""#
        #expect(whole.hasPrefix(start))
        return String(whole.dropFirst(start.count)).replacing(#"","user":"u""#, with: "", maxReplacements: 1)
    }

    private var fullContent: Content {
        Content(
            thread: "t", category: "c", title: "T", body: "B", summaryArgument: "A", summaryCount: 3, isSilent: true,
            level: .critical, expiresAt: later, collapseKey: "k", data: "{\"a\":\n1}")
    }

    @Test func anEventHasItsFieldsInOrder() {
        let event = Event(
            seq: 1, recordedAt: later, occurredAt: time, revision: 9, user: "u", key: "k", actor: "a", device: "d",
            body: .notified(fullContent))
        #expect(
            json { $0.write(event) } == #"""
                {"seq":1,"revision":9,"recordedAt":"2004-04-15T14:56:01.250Z","occurredAt":"2004-04-15T14:56:01.000Z",\#
                "kind":"notified","user":"u","key":"k","actor":"a","device":"d","thread":"t","category":"c",\#
                "title":"T","body":"B","summaryArgument":"A","summaryCount":3,"silent":true,"level":"critical",\#
                "expiresAt":"2004-04-15T14:56:01.250Z","collapseKey":"k","data":{"a": 1}}
                """#)
    }

    @Test func eventsOfEveryKindHaveTheirOwnFields() {
        let edit = ContentEdit.make {
            $0.title = .set("x\"")
            $0.body = .clear
            $0.summaryArgument = .clear
            $0.summaryCount = .set(1)
            $0.level = .set(.active)
            $0.expiresAt = .set(time)
            $0.data = .set("[1]")
        }
        let expected: [(Event.Body, String)] = [
            (.notified(Content()), #"notified}"#),
            (.broadcast(topic: "n", Content(title: "T")), #"broadcast,"topic":"n","title":"T"}"#),
            (.traySeen(upTo: 5), #"traySeen,"upTo":5}"#),
            (.marked(.restored, items: [1, 2]), #"marked,"as":"restored","items":[1,2]}"#),
            (.allMarked(.seen, ItemFilter(), upTo: 5), #"allMarked,"as":"seen","upTo":5}"#),
            (
                .allMarked(.read, ItemFilter(thread: .unthreaded), upTo: 5),
                #"allMarked,"as":"read","thread":null,"upTo":5}"#
            ),
            (
                .allMarked(.deleted, ItemFilter(thread: .named("t"), category: "c"), upTo: 5),
                #"allMarked,"as":"deleted","thread":"t","category":"c","upTo":5}"#
            ),
            (.muted(.thread("t")), #"muted,"thread":"t"}"#), (.unmuted(.category("c")), #"unmuted,"category":"c"}"#),
            (
                .muted(.all, until: Timestamp(milliseconds: 5)),
                #"muted,"all":true,"until":"1970-01-01T00:00:00.005Z"}"#
            ),
            (.snoozed(item: 3, until: later), #"snoozed,"item":3,"until":"2004-04-15T14:56:01.250Z"}"#),
            (.woken(item: 3), #"woken,"item":3}"#), (.retracted(item: 3), #"retracted,"item":3}"#),
            (
                .edited(item: 3, edit),
                #"edited,"item":3,"title":"x\"","body":null,"summaryArgument":null,"summaryCount":1,"#
                    + #""level":"active","expiresAt":"2004-04-15T14:56:01.000Z","data":[1]}"#
            ),
            (.subscribed(topic: "n"), #"subscribed,"topic":"n","topicRevision":0}"#),
            (.unsubscribed(topic: "n", topicRevision: 3), #"unsubscribed,"topic":"n","topicRevision":3}"#),
            (.undone(event: 4), #"undone,"event":4}"#),
            (
                .acted(item: 3, action: "yes", note: "n", asOf: 4),
                #"acted,"item":3,"action":"yes","note":"n","asOf":4}"#
            ),
            (.reminded(item: 3), #"reminded,"item":3}"#),
            (
                .arrived(
                    item: 3, topic: "n", key: "k", notifiedAt: Timestamp(milliseconds: 5), Content(title: "x")),
                #"arrived,"topic":"n","item":3,"itemKey":"k","notifiedAt":"1970-01-01T00:00:00.005Z","title":"x"}"#
            ),
            (.expired(item: 3), #"expired,"item":3}"#), (.erased(spans: []), "erased}"),
            (
                .erased(spans: [SubscriptionSpan(topic: "n", from: 2, to: 5)]),
                #"erased,"spans":[{"topic":"n","from":2,"to":5}]}"#
            ),
            (.compacted(through: 9, dropped: 4, archive: nil), #"compacted,"through":9,"dropped":4}"#),
            (
                .compacted(through: 9, dropped: 4, archive: "a"),
                #"compacted,"through":9,"dropped":4,"archive":"a"}"#
            ),
        ]
        for (body, text) in expected {
            #expect(event(body) == text)
        }
    }

    @Test func anItemHasItsFieldsInOrder() {
        let item = Item(
            seq: 1, position: 9, key: "k", topic: "n", content: fullContent, isMuted: true, isSeen: true, isRead: true,
            isArchived: true, snoozedUntil: later, actor: "a", occurredAt: time, recordedAt: later)
        #expect(
            json { $0.write(item) } == #"""
                {"seq":1,"position":9,"key":"k","topic":"n","thread":"t","category":"c","title":"T","body":"B",\#
                "summaryArgument":"A","summaryCount":3,"level":"critical","collapseKey":"k","silent":true,\#
                "muted":true,"seen":true,"read":true,"archived":true,\#
                "snoozedUntil":"2004-04-15T14:56:01.250Z","expiresAt":"2004-04-15T14:56:01.250Z","actor":"a",\#
                "occurredAt":"2004-04-15T14:56:01.000Z","recordedAt":"2004-04-15T14:56:01.250Z","data":{"a": 1}}
                """#)
        #expect(json { $0.write(plainItem) } == plainItemJSON)
    }

    private var plainItem: Item { Item(seq: 1, position: 1, content: Content(), recordedAt: time) }
    private let plainItemJSON = #"""
        {"seq":1,"position":1,"summaryCount":1,"level":"active","silent":false,"muted":false,"seen":false,\#
        "read":false,"archived":false,"recordedAt":"2004-04-15T14:56:01.000Z"}
        """#

    @Test func pagesHaveTheirItemsAndTheNextCursor() {
        let page = Page<Item, Cursor>([plainItem, plainItem], next: Cursor(before: 36), asOf: 3)
        #expect(
            json { $0.write(page, of: "u") }
                == #"{"user":"u","asOf":3,"items":[\#(plainItemJSON),\#(plainItemJSON)],"next":"c1-10"}"#)
        let empty = Page<Item, Cursor>([], asOf: 0)
        #expect(json { $0.write(empty, of: "u") } == #"{"user":"u","asOf":0,"items":[],"next":null}"#)
    }

    @Test func threadsAlwaysHaveTheirThreadAndSummary() {
        let group = ThreadGroup(thread: nil, count: 1, unseen: 0, unread: 1, newest: plainItem)
        let named = ThreadGroup(
            thread: "t", count: 2, unseen: 1, unread: 2, newest: plainItem, more: 3, names: ["A", "\""])
        let page = Page<ThreadGroup, Cursor>([group, named], asOf: 3)
        #expect(
            json { $0.write(page, of: "u") } == #"""
                {"user":"u","asOf":3,"threads":[\#
                {"thread":null,"count":1,"unseen":0,"unread":1,"newest":\#(plainItemJSON),"summary":null,"more":0,"names":[]},\#
                {"thread":"t","count":2,"unseen":1,"unread":2,"newest":\#(plainItemJSON),\#
                "summary":"3 more notifications from A and \"","more":3,"names":["A","\""]}],"next":null}
                """#)
    }

    @Test func aTrayHasItsCategoriesByName() {
        let tray = Tray(
            user: "u", asOf: 9, revision: 6, unseen: 1, unread: 2, total: 3, seenUpTo: 4, seenAt: time, newest: 8,
            newestCounted: 7,
            categories: ["Z", "a\"", "z", "é"].map { Tray.CategoryCounts(category: $0, unseen: 0, unread: 1) })
        #expect(
            json { $0.write(tray) } == #"""
                {"user":"u","asOf":9,"revision":6,"isSeen":false,"unseen":1,"unread":2,"awaiting":0,"total":3,"seenUpTo":4,\#
                "seenAt":"2004-04-15T14:56:01.000Z","newest":8,"newestCounted":7,\#
                "categories":{"Z":{"unseen":0,"unread":1},"a\"":{"unseen":0,"unread":1},\#
                "z":{"unseen":0,"unread":1},"é":{"unseen":0,"unread":1}}}
                """#)
        #expect(
            json { $0.write(Tray(user: "u", asOf: 0)) } == #"""
                {"user":"u","asOf":0,"revision":0,"isSeen":true,"unseen":0,"unread":0,"awaiting":0,"total":0,"seenUpTo":0,"seenAt":null,\#
                "newest":null,"newestCounted":null,\#
                "categories":{}}
                """#)
    }

    @Test func aRefusalHasItsLineWhereThereIsOne() {
        let refusal = Refusal.invalid(field: "user", reason: "is missing")
        #expect(json { $0.write(refusal) } == #"{"error":"invalid","message":"user: is missing","field":"user"}"#)
        let acted = Refusal.alreadyActed(3, action: "yes")
        #expect(
            json { $0.write(acted) }
                == #"{"error":"alreadyActed","message":"item 3 was answered already, with \"yes\"","item":3,"action":"yes"}"#
        )
        let changed = Refusal.changedSince(3, asOf: 4, edited: 6)
        #expect(
            json { $0.write(changed) }
                == #"{"error":"changedSince","message":"item 3 was edited after event 4, by event 6; "#
                + #"look at it as it is now, and answer again","item":3,"asOf":4,"seq":6}"#)
        #expect(
            json { $0.write(refusal, line: 12) }
                == #"{"error":"invalid","message":"user: is missing","field":"user","line":12}"#)
    }

    @Test func everyCharacterSurvivesARoundTrip() throws {
        for code in (0..<0x300 as Range<UInt32>).map({ $0 }) + [0x2028, 0x2029, 0xfeff, 0xffff, 0x1_0000, 0x10_ffff] {
            let character = String(Character(Unicode.Scalar(code)!))
            for text in [character, "abcdefg" + character + "hijklmno", String(repeating: character, count: 9)] {
                let written = json { $0.value(text) }
                let read = try JSONDecoder().decode(String.self, from: Data(written.utf8))
                #expect(read == text)
                #expect(!written.utf8.contains { $0 < 0x20 })
                var scanner = JSONScanner()
                let scanned = try scanner.string(in: written.utf8Span.span)
                #expect(Array(scanned.utf8) == Array(text.utf8))
            }
        }
    }

    @Test func numbersAreWrittenWhole() {
        for number in [0, 9, 10, 99, 100, 12_345, UInt64(UInt32.max), .max] as [UInt64] {
            #expect(json { $0.value(number) } == String(number))
        }
        for number in [Int.min, -10, -1, 0, 1, .max] { #expect(json { $0.value(number) } == String(number)) }
    }

    @Test func aWriterStartsAgainAfterEachLine() {
        var writer = JSONWriter()
        for index in 1...2 {
            writer.beginObject()
            writer.member("line", index)
            writer.endObject()
            writer.newline()
        }
        #expect(String(decoding: writer.bytes, as: UTF8.self) == "{\"line\":1}\n{\"line\":2}\n")
        writer.removeAll()
        writer.beginArray()
        writer.value(true)
        writer.null()
        writer.endArray()
        #expect(String(decoding: writer.bytes, as: UTF8.self) == "[true,null]")
    }

    @Test func dataStaysOnOneLine() {
        let content = Content(data: "{\n\"a\\n\" :\r\n\t[1]\n}")
        let event = Event(seq: 1, recordedAt: time, user: "u", body: .notified(content))
        #expect(json { $0.write(event) }.hasSuffix("\"data\":{ \"a\\n\" :  \t[1] }}"))
    }
}
