import TestSupport
import Testing
import TraylogDomain

@testable import TraylogCodec

/// Payloads that this version would not write: of later versions, of other writers, of nobody.
@Suite struct ForeignPayloadTests {
    /// Fields 50 (varint), 51 (fixed64), 52 (bytes), 53 (fixed32), then one that means nothing for the kind.
    let later = bytes(hex: "900305 99030102030405060708 a203026869 ad0304030201")

    @Test func unknownFieldsSurviveARoundTrip() throws {
        var random = SeededRandom(seed: 1)
        for event in random.eventsOfEveryKind() {
            let decoded = try decode(encode(event) + later, like: event)
            #expect(decoded.unknownFields == later)
            #expect(encode(decoded) == encode(event) + later)
            #expect(try decode(encode(decoded), like: event) == decoded)
            #expect(try fact(encode(decoded), like: event) == Fact(event, hasher: testHasher))
        }
    }

    @Test func unknownFieldsInBetweenMoveToTheEnd() throws {
        let event = try decode(later + bytes(hex: "c00106") + later, .traySeen)
        #expect(event.body == .traySeen(upTo: 6))
        #expect(encode(event) == bytes(hex: "c00106") + later + later)
    }

    @Test func aFieldWithoutMeaningForTheKindIsKept() throws {
        let payload = bytes(hex: "d80107 520161")
        let event = try decode(payload, .woken)
        #expect(event.body == .woken(item: 7))
        #expect(event.unknownFields == bytes(hex: "520161"))
        #expect(try fact(payload, .woken) == Fact(event, hasher: testHasher))
    }

    @Test func theLastOfRepeatedValuesCounts() throws {
        #expect(try decode(bytes(hex: "d80107 d80108"), .woken).body == .woken(item: 8))
    }

    @Test func repeatedNumbersMayStandUnpacked() throws {
        let payload = bytes(hex: "c80102 d00105 d20102 0607 d00108")
        #expect(try decode(payload, .marked).body == .marked(.read, items: [5, 6, 7, 8]))
        #expect(try fact(payload, .marked).items == [5, 6, 7, 8])
        let edited = try decode(bytes(hex: "d80105 f8010c f8010d"), .edited)
        var edit = ContentEdit()
        edit.title = .clear
        edit.body = .clear
        #expect(edited.body == .edited(item: 5, edit))
    }

    @Test(arguments: [
        (EventKind.traySeen, ""), (.marked, "d2010105"), (.allMarked, "c80101"), (.muted, ""),
        (.unmuted, "620161"), (.snoozed, "d80105"), (.woken, ""), (.edited, "620161"), (.retracted, ""),
        (.subscribed, ""), (.unsubscribed, ""), (.broadcast, "520161"), (.undone, ""), (.expired, ""),
        (.compacted, "900205"), (.acted, "d80105"), (.acted, "c2020161"), (.reminded, ""),
        (.arrived, "d80105"), (.arrived, "b80105"),
        (.notified, "b202030a0161"), (.notified, "b2020312 0161"),
    ])
    func aMissingFieldIsDamage(kind: EventKind, payload: String) {
        expect(.damaged, kind, payload, "is missing")
    }

    @Test(arguments: [
        (EventKind.woken, "da0101 05"),  // item as bytes
        (.notified, "5001"),  // thread as a number
        (.notified, "788080808010"),  // a count beyond 32 bits
        (.allMarked, "c00105 c80103"),  // all marked unread
        (.allMarked, "520161 c00105 c80101 e80101"),  // a thread and no thread
        (.muted, "520161 5a0162"),  // thread and category
        (.muted, "520161 a00201"),  // thread and all
        (.edited, "620161 d80105 fa01010c"),  // title set and cleared
        (.woken, "d80107 0001"), (.woken, "d80107 03"), (.woken, "d80107 06"),  // no fields
        (.woken, "d801ffffffffffffffffff7f"),  // eleven bytes' worth of number
    ])
    func aContradictionIsDamage(kind: EventKind, payload: String) {
        expect(.damaged, kind, payload, "run `traylog verify`")
    }

    @Test(arguments: [
        (EventKind.notified, "880105"), (.marked, "c80108"), (.allMarked, "c00105 c80109"),
        (.edited, "d80105 fa010128"),
    ])
    func aValueOfALaterVersionIsNewer(kind: EventKind, payload: String) {
        expect(.newer, kind, payload, "newer version")
    }

    @Test func textThatIsNotUTF8IsDamage() {
        let error = #expect(throws: CodecError.self) { try decode(bytes(hex: "6202c328"), .notified) }
        #expect(error?.code == .damaged && error?.message.contains("`title`") == true)
    }

    @Test func everyCutOfAPayloadIsTotal() throws {
        var random = SeededRandom(seed: 7)
        for event in random.eventsOfEveryKind() {
            let payload = encode(event)
            for length in 0..<payload.count { total(Array(payload[..<length]), event.kind) }
        }
    }

    @Test(arguments: UInt64(0)..<12)
    func randomAndMutatedBytesNeverTrap(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for event in random.eventsOfEveryKind() {
            total(random.bytes(Int.random(in: 0..<200, using: &random)), event.kind)
            let payload = encode(event)
            for _ in 0..<20 where !payload.isEmpty {
                var mutated = payload
                for _ in 0...Int.random(in: 0..<4, using: &random) {
                    mutated[Int.random(in: 0..<mutated.count, using: &random)] =
                        UInt8(truncatingIfNeeded: random.next())
                }
                total(mutated, event.kind)
            }
        }
    }

    @Test(arguments: UInt64(0)..<20)
    func randomRecordsNeverTrap(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<500 {
            var record = random.bytes(Int.random(in: 0..<120, using: &random))
            if record.count > 8, Bool.random(using: &random) {
                (record[4], record[6], record[7]) = (1, record[6] & 3, 0)
            }
            let span = RawSpan(_elements: record.span)
            #expect(throws: CodecError.self) { try RecordCodec.verify(seq: 1, record: span) }
            guard let header = try? RecordHeader.read(span),
                case .inline(let range) = try? RecordCodec.body(seq: 1, header: header, record: span)
            else { continue }
            _ = try? EventDecoder.event(seq: 1, header: header, payload: span.extracting(range))
        }
    }

    /// Any answer will do, but both decoders must agree on it.
    private func total(_ payload: [UInt8], _ kind: EventKind) {
        let event: Result<Event, CodecError> = Result { () throws(CodecError) in try decode(payload, kind) }
        let fact: Result<Fact, CodecError> = Result { () throws(CodecError) in
            try TraylogCodecTests.fact(payload, kind)
        }
        _ = try? EventDecoder.names(seq: 1, payload: RawSpan(_elements: payload.span))
        if kind == .notified { compareNotice(payload, with: event) }
        switch (event, fact) {
        case (.success(let event), .success(let fact)):
            #expect(Fact(event, hasher: testHasher) == fact)
            #expect((try? decode(encode(event), like: event)) == event)
        case (.success, .failure(let error)):
            Issue.record("an event without a fact: \(error)")
        case (.failure(let error), .success):
            #expect(error.reason.hasSuffix("is not UTF-8"))
        case (.failure, .failure):
            break
        }
    }

    /// Data that a store takes over without building the event is the same as the event's, and is checked as strictly.
    private func compareNotice(_ payload: [UInt8], with event: Result<Event, CodecError>) {
        let notice = Result { () throws(CodecError) in
            try EventDecoder.notice(
                seq: 1, header: header(.notified), payload: RawSpan(_elements: payload.span), hasher: testHasher)
        }
        switch (event, notice) {
        case (.success(let event), .success(let notice)):
            guard case .notified(let content) = event.body else {
                Issue.record("another kind")
                return
            }
            let isPlain = content.expiresAt == nil && content.remindAt == nil && content.actions.isEmpty
            #expect((notice == nil) == (event.user == nil || !isPlain))
            guard let notice else { return }
            #expect(notice.fact == Fact(event, hasher: testHasher))
            #expect(notice.user == event.user)
            #expect(notice.data.map { String(decoding: payload[$0], as: UTF8.self) } == content.data)
        case (.success, .failure(let error)): Issue.record("an event without a notice: \(error)")
        case (.failure, .success(let notice)): #expect(notice == nil, "the event cannot be decoded")
        case (.failure, .failure): break
        }
    }

    private func expect(_ code: CodecError.Code, _ kind: EventKind, _ payload: String, _ words: String) {
        let error = #expect(throws: CodecError.self) { try decode(bytes(hex: payload), kind) }
        #expect(error?.code == code)
        #expect(error?.message.contains(words) == true)
        let second = #expect(throws: CodecError.self) { try fact(bytes(hex: payload), kind) }
        #expect(second?.code == code)
    }
}
