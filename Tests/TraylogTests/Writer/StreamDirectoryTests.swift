import Testing
import TestSupport
import TraylogDomain
import TraylogLog
@testable import Traylog
@testable import TraylogStates
@testable import TraylogWriter

/// Streams in memory, against dictionaries.
@Suite struct StreamDirectoryTests {
    @Test(arguments: UInt64(0)..<10)
    func streamsAreFoundUntilTheyAreRemoved(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let hasher = IdentityHasher(key0: random.next(), key1: random.next())
        var directory = StreamDirectory(nextNumber: 2_001, topics: 0)
        var present: [StreamID: LiveStream] = [:]
        for _ in 0..<5_000 {
            let number = random.stream(1, 1_000)
            if let stream = present.removeValue(forKey: number) {
                directory.remove(stream)
            } else {
                present[number] = directory.insert(stream(number, hasher))
            }
        }
        directory.checkInvariants()
        for number in StreamID.first...2_000 {
            let name = stream(number, hasher)
            #expect(directory[number] === present[number])
            #expect(directory[name.userName] === (name.isTopic ? nil : present[number]))
            #expect(directory[topic: name.identity] === (name.isTopic ? present[number] : nil))
        }
        #expect(directory.all.map(\.number) == present.keys.sorted() && directory.count == present.count)
    }

    /// Every seventh is a topic.
    private func stream(_ number: StreamID, _ hasher: IdentityHasher) -> LiveStream {
        let name = number.rawValue.isMultiple(of: 7) ? StreamName.topic("t\(number)") : .user("u\(number)")
        let identity = hasher.identity(of: name.text, as: name.isTopic ? .topic : .user)
        return LiveStream(name: name, identity: identity, number: number, isNamed: true)
    }

    @Test func aStreamBeyondTheHighestNumberIsRefused() throws {
        var directory = StreamDirectory(nextNumber: StreamID.highest.advanced(by: -1), topics: 0)
        let last = try directory.add(.user("A"), identity: 1)
        #expect(last.number == StreamID.highest.advanced(by: -1))
        for name in [StreamName.user("B"), .topic("T")] {
            var refused: Refusal?
            do { _ = try directory.add(name, identity: 2) } catch { refused = error }
            #expect(refused?.field == (name.isTopic ? "topic" : "user"))
        }
        // A refused one leaves the number to the next.
        directory.removeNewest()
        let next = try directory.add(.topic("T"), identity: 2)
        #expect(next.number == last.number)
    }

    @Test func newStreamsAppearWithTheirTransactionOrNotAtAll() throws {
        var directory = StreamDirectory(nextNumber: 5, topics: 1)
        let first = try directory.add(.user("A"), identity: 1)
        let second = try directory.add(.topic("T"), identity: 2)
        #expect(first.number == 5 && second.number == 6 && directory.streamCount == 4)
        directory.checkInvariants()
        #expect(directory.newest === second)
        directory.removeNewest()
        #expect(directory[topic: 2] == nil && directory[5] === first && directory.nextNumber == 6)
        _ = try directory.add(.topic("U"), identity: 3)
        directory.publish()
        directory.checkInvariants()
        #expect(directory.streamCount == 6 && directory.topicCount == 2 && directory.newStreams.users == ["A"])
        #expect(directory.newest == nil && directory.count == 2, "what is durable stays")
    }

    @Test func aFlushNamesTheStreamsThatCameBeforeIt() throws {
        var directory = StreamDirectory(nextNumber: 1, topics: 0)
        func add(_ name: StreamName, _ identity: Identity) throws -> LiveStream {
            defer { directory.publish() }
            return try directory.add(name, identity: identity)
        }
        func names(_ streams: [LiveStream]) -> [String] { streams.map(\.text) }
        let first = try add(.user("A"), 1)
        _ = try add(.topic("T"), 2)
        #expect(names(directory.beginNaming()) == ["A", "T"])
        _ = try add(.user("B"), 3)
        #expect(directory.newStreams.users == ["A", "B"], "named or not, until the round has ended")
        first.isNamed = true
        directory.checkInvariants()
        // The round did not end.
        #expect(names(directory.beginNaming()) == ["T", "B"])
        _ = try add(.user("C"), 4)
        #expect(directory.endNaming().users == ["B"] && directory.newStreams.users == ["C"])
    }

    @Test func namesWithTheSameIdentityAreDistinguished() {
        let composed = UserName("caf\u{e9}", identity: 5)
        let decomposed = UserName("cafe\u{301}", identity: 5)
        #expect(composed != decomposed)
        #expect([composed: 1, decomposed: 2][UserName("cafe\u{301}", identity: 5)] == 2)
    }
}
