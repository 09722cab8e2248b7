import Testing
import TestSupport
@testable import Traylog
@testable import TraylogDomain
@testable import TraylogStates
@testable import TraylogWriter

/// Trays that are kept as they were answered.
@Suite struct AnsweredTrayTests {
    /// Slots of a small cache come and go; trays stay, and have to go all the same when an event comes.
    @Test func anEventChangesATrayThatOutlivedItsSlot() throws {
        try withStorePath { path in
            try withStore(path, options(tailEvents: 20, cacheBytes: 0, isRelaxed: true)) { store in
                let users = (0..<30).map { "user \($0)" }
                for round in UInt64(1)...5 {
                    for user in users { _ = try store.perform(Command(user: user, .notify(Content()))) }
                    for user in users.reversed() { #expect(try store.tray(of: user).total == round) }
                    for user in users { #expect(try store.tray(of: user).total == round) }
                }
            }
        }
    }

    @Test func aLaterEventOfATopicMakesATrayUnknown() throws {
        let stream = LiveStream(name: .user("A"), identity: 5, number: 1, isNamed: true)
        #expect(!stream.keep(Tray(user: "A", asOf: 7)))
        #expect(stream.answeredTray(asOf: 7, lastTopicEvent: 0) == nil, "there is no state that it could be of")
        var state = TrayState()
        state.topics = [Subscription(topic: 9, isActive: true)]
        let cached = CachedState(state: state)
        cached.topicsThrough = 3
        var cache = StateCache(limit: 1, heavyPages: 512)
        cache.set(cached, of: stream)
        #expect(stream.keep(Tray(user: "A", asOf: 7, unread: 2)))
        #expect(stream.answeredTray(asOf: 8, lastTopicEvent: 3) == Tray(user: "A", asOf: 8, unread: 2))
        #expect(stream.answeredTray(asOf: 8, lastTopicEvent: 4) == nil)
        stream.forgetTray()
        #expect(stream.answeredTray(asOf: 8, lastTopicEvent: 3) == nil)
    }

    @Test func aTrayWithoutTopicsIgnoresBroadcasts() {
        let stream = LiveStream(name: .user("A"), identity: 5, number: 1, isNamed: true)
        var cache = StateCache(limit: 1, heavyPages: 512)
        cache.set(CachedState(state: TrayState()), of: stream)
        #expect(stream.keep(Tray(user: "A", asOf: 7)))
        #expect(stream.answeredTray(asOf: 9, lastTopicEvent: 9) == Tray(user: "A", asOf: 9))
    }
}
