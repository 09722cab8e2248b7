import Testing
import TraylogLMDB
import TraylogLog
@testable import Traylog
@testable import TraylogObservation
@testable import TraylogDomain
@testable import TraylogQueries
@testable import TraylogStates
@testable import TraylogWriter

/// A change wakes the observers it concerns, and no others.
struct ObserversTests {
    private let ann = Signal()
    private let annToo = Signal()
    private let bob = Signal()
    private let follower = Signal()

    private func observers() -> Observers {
        var observers = Observers()
        observers.add(ann, of: 1, named: "ann")
        observers.add(annToo, of: 1, named: "ann")
        observers.add(bob, of: 2, named: "bob")
        observers.add(follower: follower)
        return observers
    }

    private func expect(_ signals: [Signal], _ expected: Signal..., sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(
            Set(signals.map(ObjectIdentifier.init)) == Set(expected.map(ObjectIdentifier.init)),
            sourceLocation: sourceLocation)
    }

    /// Streams that a log of such events touches.
    private func touched(_ events: [(stream: StreamID, body: Event.Body)]) throws -> TouchedStreams {
        try withStorePath { path in
            try withStore(path) { _ in }
            try RawStore.change(path) { store in
                var batch = RecordBatch(firstSeq: 1)
                for (stream, body) in events {
                    batch.append(
                        Command(user: stream < 100 ? "user\(stream)" : nil, .seeTray()), body: body, kind: body.kind,
                        fingerprint: 0, stream: stream, revision: stream == .absent ? 0 : UInt32(batch.nextSeq),
                        recordedAt: Timestamp(milliseconds: 0), salt: Salt(1, 2))
                }
                try store.environment.write { try store.tables.log.events.append(batch, to: &$0) }
            }
            let environment = try Environment.open(directory: path, access: .readOnly, databases: Tables.allNames)
            defer { environment.close() }
            let source = FileSource(directory: path, environment: environment, tables: Tables(environment))
            var touched = TouchedStreams()
            try touched.scan(after: 0, through: UInt64(events.count), source.tables.log.events, environment)
            return touched
        }
    }

    @Test func aCommitWakesItsUsersAndFollowers() {
        expect(observers().signals(of: Touched(users: [2, 3, 2])), bob, follower)
        expect(observers().signals(of: Touched(users: [1])), ann, annToo, follower)
        expect(observers().signals(of: Touched(users: [3], topics: true)), ann, annToo, bob, follower)
    }

    @Test func aStreamWakesItsUserOnceThatIsKnown() throws {
        let one = try touched([(1, .traySeen(upTo: 0)), (7, .traySeen(upTo: 0))])
        #expect(one.streams == [1, 7] && one.newest == 7 && !one.topics)
        var observers = observers()
        expect(observers.signals(of: one), follower)
        expect(observers.resolve(1, user: "ann", stream: 7), ann, annToo)
        expect(observers.signals(of: one), ann, annToo, follower)
        observers.remove(ann, of: 1)
        expect(observers.signals(of: one), annToo, follower)
        observers.remove(annToo, of: 1)
        observers.remove(follower: follower)
        expect(observers.signals(of: one))
        #expect(observers.count == 1)
    }

    @Test func observersOfUsersWithoutAStreamAreLookedUpWhenNewUsersCome() {
        var observers = observers()
        #expect(observers.unresolvedUsers(withStrangers: false) == [1: "ann", 2: "bob"])
        _ = observers.resolve(1, user: "ann", stream: nil)
        _ = observers.resolve(2, user: "bob", stream: 5)
        #expect(observers.unresolvedUsers(withStrangers: false).isEmpty)
        #expect(observers.unresolvedUsers(withStrangers: true) == [1: "ann"])
        _ = observers.resolve(1, user: "ann", stream: 9)
        #expect(observers.unresolvedUsers(withStrangers: true).isEmpty)
    }

    @Test(arguments: [
        Event.Body.broadcast(topic: "t", Content()), .edited(item: 1, ContentEdit()), .retracted(item: 1),
        .expired(item: 1),
    ])
    func anEventOfATopicWakesEverybody(body: Event.Body) throws {
        let touched = try touched([(1, .traySeen(upTo: 0)), (100, body)])
        #expect(touched.topics)
        expect(observers().signals(of: touched), ann, annToo, bob, follower)
    }

    @Test func anEditOfAUsersItemWakesNoTopic() throws {
        let touched = try touched([
            (1, .edited(item: 1, ContentEdit())), (2, .retracted(item: 1)), (3, .expired(item: 1)),
        ])
        #expect(!touched.topics)
    }
}
