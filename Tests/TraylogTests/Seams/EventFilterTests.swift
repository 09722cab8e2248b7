import Testing
import Traylog

/// Each condition of a search, asked of an event of each kind.
///
/// Lists the expected matches kind by kind: ``SearchTests`` compares searches with the filter, and nothing else checks the filter.
@Suite struct EventFilterTests {
    /// A kind of event, and what it is found by.
    private struct Sample {
        let body: Event.Body
        var hasUser = true
        var thread: String?
        var category: String?
        var texts: [String] = []
    }

    private static let content = Content(thread: "t", category: "c", title: "A Title", body: "The body")

    private static let samples = [
        Sample(body: .notified(content), thread: "t", category: "c", texts: ["a title", "body"]),
        Sample(body: .traySeen(upTo: 1)), Sample(body: .marked(.read, items: [1])),
        Sample(body: .allMarked(.read, ItemFilter(thread: "t"), upTo: 1), thread: "t"),
        Sample(body: .allMarked(.read, ItemFilter(thread: .unthreaded), upTo: 1)),
        Sample(body: .allMarked(.read, ItemFilter(categories: ["c"]), upTo: 1), category: "c"),
        Sample(body: .muted(.thread("t")), thread: "t"), Sample(body: .muted(.category("c")), category: "c"),
        Sample(body: .muted(.topic("t"))), Sample(body: .muted(.all)),
        Sample(body: .unmuted(.thread("t")), thread: "t"), Sample(body: .unmuted(.category("c")), category: "c"),
        Sample(body: .unmuted(.topic("t"))), Sample(body: .unmuted(.all)),
        Sample(body: .snoozed(item: 1, until: Timestamp(milliseconds: 9))), Sample(body: .woken(item: 1)),
        Sample(body: .edited(item: 1, ContentEdit(title: .set("A Title"))), texts: ["a title"]),
        Sample(body: .edited(item: 1, ContentEdit(title: .clear, body: .set("The body"))), texts: ["body"]),
        Sample(body: .retracted(item: 1)), Sample(body: .subscribed(topic: "t")),
        Sample(body: .unsubscribed(topic: "t")),
        Sample(
            body: .broadcast(topic: "t", content), hasUser: false, thread: "t", category: "c",
            texts: ["a title", "body"]),
        Sample(body: .undone(event: 1)), Sample(body: .expired(item: 1)), Sample(body: .erased(spans: [])),
        Sample(body: .compacted(through: 1, dropped: 1, archive: nil), hasUser: false), Sample(body: .held),
        Sample(body: .released), Sample(body: .lost, hasUser: false),
        Sample(body: .acted(item: 1, action: "yes", note: "a title", asOf: 1)), Sample(body: .reminded(item: 1)),
        Sample(body: .audited(purpose: nil, topicRevisions: [])),
        Sample(
            body: .arrived(
                item: 1, topic: nil, key: nil, notifiedAt: Timestamp(milliseconds: 1), content),
            thread: "t", category: "c", texts: ["a title", "body"]),
    ]

    private static func event(
        _ sample: Sample, at milliseconds: Int64 = 500, key: String? = "k", actor: String? = nil, device: String? = "d"
    ) -> Event {
        Event(
            seq: 2, recordedAt: Timestamp(milliseconds: milliseconds), user: sample.hasUser ? "ann" : nil, key: key,
            actor: actor, device: device, body: sample.body)
    }

    @Test func everyKindOfEventIsASample() {
        #expect(Set(Self.samples.map { Self.event($0).kind }) == Set(EventKind.allCases))
    }

    @Test func eachKindIsFoundByWhatItHasAndByNothingElse() {
        for sample in Self.samples {
            let event = Self.event(sample)
            func expect(_ isFound: Bool, _ filter: EventFilter) {
                #expect(filter.matches(event) == isFound, "\(event.body) by \(filter)")
            }
            expect(true, EventFilter())
            for kind in EventKind.allCases { expect(kind == event.kind, EventFilter(kinds: [kind])) }
            expect(true, EventFilter(kinds: Set(EventKind.allCases)))
            expect(sample.hasUser, EventFilter(user: "ann"))
            expect(false, EventFilter(user: "bob"))
            expect(sample.hasUser, EventFilter(actor: "ann"))
            for name in ["t", "c", "x"] {
                expect(name == sample.thread, EventFilter(thread: name))
                expect(name == sample.category, EventFilter(category: name))
            }
            for text in ["a title", "body"] { expect(sample.texts.contains(text), EventFilter(text: text)) }
            expect(true, EventFilter(text: ""))
            expect(false, EventFilter(text: "elsewhere"))
        }
    }

    @Test func eachKindIsFoundByItsActorDeviceKeyAndTime() {
        for sample in Self.samples {
            let event = Self.event(sample, actor: "bob")
            func expect(_ isFound: Bool, _ filter: EventFilter) {
                #expect(filter.matches(event) == isFound, "\(event.body) by \(filter)")
            }
            for name in ["bob", "ann", "d", "k"] {
                expect(name == "bob", EventFilter(actor: name))
                expect(name == "d", EventFilter(device: name))
                expect(name == "k", EventFilter(key: name))
            }
            for milliseconds in [Int64(499), 500, 501] {
                let time = Timestamp(milliseconds: milliseconds)
                expect(milliseconds <= 500, EventFilter(since: time))
                expect(milliseconds >= 500, EventFilter(until: time))
            }
            let bare = Self.event(sample, key: nil, device: nil)
            #expect(!EventFilter(device: "d").matches(bare) && !EventFilter(key: "k").matches(bare))
        }
    }
}
