import TestSupport
import Testing
import TraylogDomain

@testable import TraylogCodec

@Suite struct PayloadTests {
    @Test(arguments: UInt64(0)..<60)
    func everyEventSurvivesEncodingAndDecoding(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for event in random.eventsOfEveryKind() {
            let decoded = try decode(encode(event), like: event)
            #expect(decoded == event)
            #expect(decoded.commandFingerprint == event.commandFingerprint && encode(decoded) == encode(event))
        }
    }

    @Test(arguments: UInt64(100)..<160)
    func factOfThePayloadIsTheFactOfTheEvent(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for event in random.eventsOfEveryKind() {
            let expected = Fact(event, hasher: testHasher)
            #expect(try fact(encode(event), like: event) == expected)
        }
    }

    @Test(arguments: UInt64(200)..<230)
    func identityNamesTheSameStrings(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for event in random.eventsOfEveryKind() {
            let payload = encode(event)
            let found = try EventDecoder.names(seq: 1, payload: RawSpan(_elements: payload.span))
            #expect(found.user.map { Array(payload[$0]) } == event.user.map { Array($0.utf8) })
            #expect(found.key.map { Array(payload[$0]) } == event.key.map { Array($0.utf8) })
            #expect(found.topic.map { Array(payload[$0]) } == topic(of: event).map { Array($0.utf8) })
            #expect(found.commandFingerprint == event.commandFingerprint)
        }
    }

    @Test(arguments: UInt64(300)..<320)
    func encodingIsTheSameInAnyBuffer(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for event in random.eventsOfEveryKind() {
            var used = random.bytes(77)
            PayloadEncoder.append(event, to: &used)
            #expect(Array(used[77...]) == encode(event))
        }
    }

    @Test(arguments: 1...40)
    func aByteThatIsNotASCIIIsFoundAtEveryPlaceOfAText(count: Int) throws {
        for place in 0..<count {
            let ascii = String(repeating: "a", count: count)
            let whole = event(.notified(Content(title: ascii.prefix(place) + "é" + ascii.dropFirst(place + 1))))
            #expect(try decode(encode(whole), like: whole) == whole)

            var plain = event(.notified(Content(title: ascii)))
            plain.user = "ann"
            var broken = encode(plain)
            broken[broken.count - count + place] = 0xC3
            #expect(throws: CodecError.self) { try decode(broken, like: whole) }
            #expect(throws: CodecError.self) {
                try EventDecoder.notice(
                    seq: 1, header: header(.notified), payload: RawSpan(_elements: broken.span), hasher: testHasher)
            }
        }
    }

    @Test func defaultsOfContentAreNotWritten() {
        #expect(encode(event(.notified(Content()))).isEmpty)
    }

    @Test func anEditWritesWhatWouldBeADefault() throws {
        var edit = ContentEdit()
        edit.summaryCount = .set(1)
        edit.level = .set(.active)
        edit.title = .set("")
        edit.data = .clear
        let edited = event(.edited(item: 5, edit))
        #expect(hex(encode(edited)) == "6200" + "7801" + "880102" + "d80105" + "fa010114")
        #expect(try decode(encode(edited), like: edited) == edited)
    }

    @Test func payloadFieldsAscend() throws {
        var random = SeededRandom(seed: 1)
        for event in random.eventsOfEveryKind() {
            let numbers = try fields(encode(event)).map(\.number)
            #expect(numbers == numbers.sorted())
            let repeated = [FieldNumber.actions, .spans, .topicRevisions].map(\.rawValue)
            let single = numbers.filter { !repeated.contains($0) }
            #expect(Set(single).count == single.count)
        }
    }

    private func topic(of event: Event) -> String? {
        switch event.body {
        case .subscribed(let topic, _), .unsubscribed(let topic, _), .broadcast(let topic, _),
            .muted(.topic(let topic), _), .unmuted(.topic(let topic)):
            topic
        case .arrived(_, let topic, _, _, _): topic
        default: nil
        }
    }

    private func event(_ body: Event.Body) -> Event {
        Event(seq: 1, recordedAt: Timestamp(milliseconds: 0), user: nil, body: body)
    }

    private func fields(_ payload: [UInt8]) throws -> [PayloadField] {
        var reader = PayloadReader()
        var fields: [PayloadField] = []
        while let field = try reader.next(RawSpan(_elements: payload.span)) { fields.append(field) }
        return fields
    }
}
