import TraylogDomain
import TraylogLog
import TraylogStates

/// The streams that the writing process has in memory, by number, by user's name and by topic; and the numbers of new ones.
struct StreamDirectory {
    /// The number of the next new stream.
    private(set) var nextNumber: StreamID
    /// Topics among the streams that have durable events.
    private(set) var topicCount: UInt64
    /// Those of users and topics with durable events whose names are not in the table of names and are not ``beingNamed``.
    private var unnamed: [LiveStream] = []
    /// Those whose names a flush stores, or stored already.
    private var beingNamed: [LiveStream] = []
    /// How many streams are in memory.
    private(set) var count = 0
    /// Roughly what they take in memory, without states.
    private(set) var byteCount = 0
    private var byNumber = StreamPages()
    private var byUser = StreamsByUser()
    /// Those that somebody asked for since the cache was swept last.
    private var recent = StreamSet()
    /// Those that keep the tray that they were answered with.
    private var answered = StreamSet()
    private var byTopic: [Identity: LiveStream] = [:]
    /// New ones of the transaction in the making, by number.
    private var pending: [LiveStream] = []

    /// - Parameters:
    ///   - nextNumber: the number of the first stream whose name is not stored.
    ///   - topics: how many of the streams before it are topics.
    init(nextNumber: StreamID, topics: UInt64) {
        self.nextNumber = nextNumber
        topicCount = topics
    }

    /// How many streams have durable events.
    var streamCount: UInt64 { UInt64(firstPending.rawValue) - 1 }

    /// The first stream without durable events.
    var firstPending: StreamID { nextNumber.advanced(by: -pending.count) }

    subscript(number: StreamID) -> LiveStream? { byNumber[number] }
    subscript(user: UserName) -> LiveStream? { byUser[user].flatMap { byNumber[$0] } }
    subscript(topic topic: Identity) -> LiveStream? { byTopic[topic] }

    /// The number of the user's stream, if it is in memory; else absent.
    func number(of user: UserName) -> StreamID { byUser[user] ?? .absent }

    /// All of them, by number.
    var all: [LiveStream] { byNumber.all }

    /// The first one with this number or a higher one.
    func next(from number: StreamID) -> StreamID? { byNumber.next(from: number) }

    /// The topics among them.
    var topics: some Collection<LiveStream> { byTopic.values }

    /// The users and topics with durable events whose names are not in the table of names, and some whose names are.
    var newStreams: NewStreams { NewStreams(parts: [beingNamed, unnamed]) }

    @discardableResult
    mutating func insert(_ stream: LiveStream) -> LiveStream {
        byNumber[stream.number] = stream
        if stream.isTopic {
            byTopic[stream.identity] = stream
        } else if !stream.isErased {
            byUser[stream.userName] = stream.number
        }
        recent.insert(stream.number)
        count += 1
        byteCount += stream.byteCount
        return stream
    }

    /// Forgets a stream; it can come back.
    mutating func remove(_ stream: LiveStream) {
        byNumber[stream.number] = nil
        if stream.isTopic {
            byTopic[stream.identity] = nil
        } else if !stream.isErased {
            byUser[stream.userName] = nil
        }
        recent.remove(stream.number)
        answered.remove(stream.number)
        count -= 1
        byteCount -= stream.byteCount
    }

    /// Somebody asks for the stream.
    mutating func setReference(of number: StreamID) { recent.insert(number) }

    /// Whether somebody asked for the stream since this was asked last.
    mutating func testAndClearReference(of number: StreamID) -> Bool {
        defer { recent.remove(number) }
        return recent.contains(number)
    }

    /// Keeps the tray that is the answer for the stream's user, until ``forgetTray(of:)``.
    mutating func keep(_ tray: Tray, of stream: LiveStream) {
        let before = stream.byteCount
        guard stream.keep(tray) else { return }
        answered.insert(stream.number)
        byteCount += stream.byteCount - before
    }

    /// The tray of the stream's user is about to change.
    ///
    /// Nearly all streams keep none, and need no look at themselves.
    mutating func forgetTray(of number: StreamID) {
        guard answered.contains(number) else { return }
        answered.remove(number)
        byNumber[number]?.forgetTray()
    }

    // MARK: New streams

    /// A stream for somebody whose first event is about to be made.
    ///
    /// - Throws: ``Refusal`` `invalid` when all numbers are taken.
    mutating func add(_ name: StreamName, identity: Identity) throws(Refusal) -> LiveStream {
        guard nextNumber < .highest else {
            throw .invalid(
                field: name.isTopic ? "topic" : "user",
                reason:
                    "is new, and the store has \(StreamID.highest.rawValue - 1) users and topics already: it can have no more"
            )
        }
        let stream = insert(LiveStream(name: name, identity: identity, number: nextNumber, isNamed: false))
        stream.mayBeStored = false
        stream.storedRevision = 0
        nextNumber = nextNumber.next
        pending.append(stream)
        return stream
    }

    /// The newest of the transaction's streams.
    var newest: LiveStream? { pending.last }

    /// Takes ``newest`` back.
    mutating func removeNewest() {
        remove(pending.removeLast())
        nextNumber = nextNumber.advanced(by: -1)
    }

    /// The transaction's streams have durable events.
    mutating func publish() {
        for stream in pending { noteUnnamed(stream) }
        pending.removeAll(keepingCapacity: true)
    }

    /// Takes over a stream whose name is in no table, as recovery found it in the log.
    mutating func insertRecovered(_ stream: LiveStream) {
        insert(stream)
        nextNumber = max(nextNumber, stream.number.next)
        if !stream.isErased { noteUnnamed(stream) }
    }

    private mutating func noteUnnamed(_ stream: LiveStream) {
        unnamed.append(stream)
        if stream.isTopic { topicCount += 1 }
    }

    /// Those whose names are not in the table of names, for a flush that stores them.
    ///
    /// - Complexity: O(1), unless the flush before did not end: there may be a million of them.
    mutating func beginNaming() -> [LiveStream] {
        if beingNamed.isEmpty {
            swap(&beingNamed, &unnamed)
        } else {
            beingNamed.removeAll(where: \.isNamed)
            beingNamed += unnamed
            unnamed = []
        }
        return beingNamed
    }

    /// All that the flush began with are in the table of names.
    ///
    /// - Returns: those, to be let go of without the lock.
    mutating func endNaming() -> NewStreams {
        defer { beingNamed = [] }
        return NewStreams(parts: [beingNamed])
    }

    /// Checks that its parts agree with each other.
    func checkInvariants() {
        let all = all
        precondition(all.count == count, "\(count) streams in memory")
        precondition(byTopic.count == all.count(where: \.isTopic), "topics in memory")
        precondition(byUser.count == all.count { !$0.isTopic && !$0.isErased }, "users in memory")
        let bytes = all.reduce(0) { $0 + $1.byteCount }
        precondition(bytes == byteCount, "\(byteCount) bytes of streams, not \(bytes)")
        for stream in all {
            precondition(stream.number < nextNumber, "stream \(stream.number) has no number")
            if stream.isTopic {
                precondition(byTopic[stream.identity] === stream, "topic \(stream.text)")
            } else if !stream.isErased {
                precondition(byUser[stream.userName] == stream.number, "user \(stream.text)")
            }
        }
        for stream in beingNamed + unnamed + pending where !stream.isNamed {
            precondition(byNumber[stream.number] === stream, "a stream without a stored name is kept in memory")
        }
        precondition(pending.map(\.number) == Array(firstPending..<nextNumber))
    }
}

/// Streams that began not long ago.
package struct NewStreams: @unchecked Sendable {
    // @unchecked: of a stream only what never changes is read.
    let parts: [[LiveStream]]

    /// The users' names, in no order.
    package var users: [String] { parts.joined().filter { !$0.isTopic }.map(\.text) }
}

/// The streams of users in memory, by name.
///
/// Divided into parts that grow one at a time, so that nobody waits while a million places are filled anew.
struct StreamsByUser {
    /// The high bits of a name's identity choose one; a dictionary goes by the low ones.
    private var parts = ContiguousArray(repeating: [UserName: StreamID](), count: 1_024)

    /// How many there are.
    var count: Int { parts.reduce(0) { $0 + $1.count } }

    subscript(user: UserName) -> StreamID? {
        get { parts[Self.part(user)][user] }
        set { parts[Self.part(user)][user] = newValue }
    }

    private static func part(_ user: UserName) -> Int { Int(user.identity.rawValue >> 54) }
}

/// Streams by number.
///
/// Numbers have no gaps, so an array does, in pages that are given back when empty.
struct StreamPages {
    private static let pageStreams = 256

    private struct Page {
        var streams: ContiguousArray<LiveStream?> = []
        var count = 0

        mutating func set(_ stream: LiveStream?, at index: Int) {
            if streams.isEmpty { streams = ContiguousArray(repeating: nil, count: StreamPages.pageStreams) }
            count += (stream == nil ? 0 : 1) - (streams[index] == nil ? 0 : 1)
            streams[index] = stream
            if count == 0 { streams = [] }
        }
    }

    private var pages: ContiguousArray<Page> = []

    subscript(number: StreamID) -> LiveStream? {
        get {
            let page = Int(number.rawValue) / StreamPages.pageStreams
            guard page < pages.count, pages[page].count > 0 else { return nil }
            return pages[page].streams[Int(number.rawValue) % StreamPages.pageStreams]
        }
        set {
            let page = Int(number.rawValue) / StreamPages.pageStreams
            while page >= pages.count { pages.append(Page()) }
            pages[page].set(newValue, at: Int(number.rawValue) % StreamPages.pageStreams)
        }
    }

    var all: [LiveStream] { pages.flatMap { $0.streams.compactMap { $0 } } }

    /// The first one with this number or a higher one.
    func next(from number: StreamID) -> StreamID? {
        var place = Int(number.rawValue)
        while place / StreamPages.pageStreams < pages.count {
            let page = place / StreamPages.pageStreams
            if pages[page].count == 0 {
                place = (page + 1) * StreamPages.pageStreams
            } else if pages[page].streams[place % StreamPages.pageStreams] != nil {
                return StreamID(rawValue: UInt32(place))
            } else {
                place += 1
            }
        }
        return nil
    }
}
