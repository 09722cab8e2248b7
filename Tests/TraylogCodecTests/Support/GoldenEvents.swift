import TraylogDomain

/// The events of the golden fixtures of format 2.
///
/// Once it is released they never change: a new format gets new ones beside them.
enum GoldenEvents {
    static let all: [(name: String, event: Event)] = [
        ("notified", event(1, .notified(content), key: "message-17", fingerprint: 0x0123_4567_89AB_CDEF)),
        ("notified-plain", event(2, .notified(Content(title: "Hi")))),
        ("notified-chunked", event(3, .notified(Content(body: String(repeating: "Grüße ", count: 300))))),
        ("traySeen", event(4, .traySeen(upTo: 3))),
        ("marked", event(5, .marked(.unarchived, items: [1, 300, 70_000, Seq(.max)]))),
        (
            "allMarked",
            event(6, .allMarked(.deleted, ItemFilter(thread: .named("t"), category: "c"), upTo: 5))
        ),
        ("allMarked-unthreaded", event(7, .allMarked(.archived, ItemFilter(thread: .unthreaded), upTo: 5))),
        ("muted", event(8, .muted(.thread("family")))),
        ("muted-all", event(24, .muted(.all, until: Timestamp(milliseconds: 1_700_003_600_000)))),
        ("muted-topic", event(29, .muted(.topic("news")))),
        ("notified-actions", event(25, .notified(asking))),
        ("acted", event(26, .acted(item: 25, action: "yes", note: "Gern", asOf: 25))),
        ("edited-reminder", event(27, .edited(item: 25, later))),
        ("reminded", event(28, .reminded(item: 25))),
        ("notified-later", event(30, .notified(planned))),
        (
            "edited-later",
            event(31, .edited(item: 30, ContentEdit(notBefore: .set(Timestamp(milliseconds: 1_700_010_000_000)))))
        ),
        (
            "arrived",
            event(
                32,
                .arrived(
                    item: 30, topic: nil, key: "later", notifiedAt: Timestamp(milliseconds: 1_699_990_000_000), content)
            )
        ),
        (
            "arrived-topic",
            event(
                33,
                .arrived(
                    item: 16, topic: "news", key: nil, notifiedAt: Timestamp(milliseconds: 1_699_990_000_000), asking),
                user: nil)
        ),
        ("unmuted", event(9, .unmuted(.category("offers")))),
        ("snoozed", event(10, .snoozed(item: 1, until: Timestamp(milliseconds: 1_700_003_600_000)))),
        ("woken", event(11, .woken(item: 1))),
        ("edited", event(12, .edited(item: 1, edit))),
        ("retracted", event(13, .retracted(item: 2))),
        ("subscribed", event(14, .subscribed(topic: "news", topicRevision: 300))),
        ("unsubscribed", event(15, .unsubscribed(topic: "news"))),
        ("broadcast", event(16, .broadcast(topic: "news", content), user: nil)),
        ("undone", event(17, .undone(event: 5))),
        ("expired", event(18, .expired(item: 16), user: nil)),
        ("erased", event(19, .erased(spans: [SubscriptionSpan(topic: "news", from: 4, to: 15)]))),
        ("held", event(21, .held)),
        ("released", event(22, .released)),
        ("lost", event(23, .lost, user: nil, revision: 0)),
        (
            "audited",
            event(
                24,
                .audited(
                    purpose: "complaint 17",
                    topicRevisions: [
                        TopicRevision(topic: "news", revision: 300), TopicRevision(topic: "quiet", revision: 0),
                    ]))
        ),
        (
            "compacted",
            event(20, .compacted(through: 9, dropped: 4, archive: "0000000009.archive"), user: nil, revision: 0)
        ),
    ]

    static let content = Content(
        thread: "family", category: "message", title: "Anna", body: "Wo bist du? 🎈", summaryArgument: "Anna",
        summaryCount: 3, isSilent: true, level: .timeSensitive,
        expiresAt: Timestamp(milliseconds: 1_700_086_400_000), collapseKey: "where", data: #"{"a": [1, null]}"#)

    static let planned = Content(title: "Tomorrow", notBefore: Timestamp(milliseconds: 1_700_007_200_000))

    static let asking = Content(
        title: "Deploy?", remindAt: Timestamp(milliseconds: 1_700_090_000_000),
        actions: [ItemAction(id: "yes", label: "Ja, gern 🎈"), ItemAction(id: "no", label: "No")])

    static let later: ContentEdit = {
        var edit = ContentEdit()
        edit.remindAt = .set(Timestamp(milliseconds: 1_700_100_000_000))
        return edit
    }()

    static let edit: ContentEdit = {
        var edit = ContentEdit()
        edit.title = .set("")
        edit.body = .clear
        edit.summaryCount = .set(1)
        edit.level = .set(.critical)
        edit.expiresAt = .set(Timestamp(milliseconds: -1))
        edit.data = .clear
        return edit
    }()

    private static func event(
        _ seq: UInt64, _ body: Event.Body, key: String? = nil, fingerprint: UInt64 = 0, user: String? = "anna",
        revision: UInt64? = nil
    ) -> Event {
        Event(
            seq: Seq(seq), recordedAt: Timestamp(milliseconds: 1_700_000_000_000 + Int64(seq)),
            occurredAt: seq % 2 == 1 ? Timestamp(milliseconds: 1_699_999_999_000) : nil,
            revision: revision ?? seq * 0x0102_0304 % 0xFFFF_FFFF, user: user, key: key,
            actor: seq % 3 == 1 ? "bob" : nil, device: seq % 4 == 1 ? "phone" : nil, body: body,
            commandFingerprint: fingerprint)
    }
}
