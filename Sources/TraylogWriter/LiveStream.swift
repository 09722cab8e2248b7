import TraylogDomain
import TraylogLog
import TraylogStates

/// One stream in the memory of the writing process, a user's or a topic's.
///
/// A topic's state is the tray of somebody who always was subscribed and never did anything. Guarded by the lock of
/// ``LiveStore``.
package final class LiveStream {
    // What appends look at comes first, so that it shares as few lines of memory as can be.
    /// The user's name; of a topic, the topic's.
    let text: String
    /// The name's; of a topic, what states know it by.
    let identity: Identity
    package let number: StreamID
    /// The revision of its newest event while no event of it is in ``LogTail``; nil when it has to be looked up.
    var storedRevision: UInt32? {
        get { knownRevision == .max ? nil : knownRevision }
        set { knownRevision = newValue ?? .max }
    }
    private var knownRevision = UInt32.max
    private let kind: Kind
    /// Whether the name is in the table of names.
    var isNamed: Bool
    /// Whether a state of it may be in the table of states.
    var mayBeStored = true
    var keys = KnownKeys.OfStream()
    var states = StateCache.OfStream()
    private var answer: Answer?

    private enum Kind: UInt8 {
        case user, topic, erased
    }

    /// The tray as last answered; its memory is reused for the next answer.
    private final class Answer {
        var tray: Tray
        /// The newest event of a topic that it was made with; nil when the tray may have changed.
        var topicsThrough: UInt64?

        init(_ tray: Tray) { self.tray = tray }
    }

    /// Roughly what one takes in memory with its places in the directory, but without a long name, a tray and states.
    static let leastBytes = 176
    /// Roughly what the tray takes that was answered last.
    private static let answerBytes = 192

    /// Roughly what it takes in memory, without states.
    ///
    /// Names of up to 15 bytes take no memory of their own.
    var byteCount: Int {
        Self.leastBytes + (text.utf8.count > 15 ? text.utf8.count + 48 : 0) + (answer == nil ? 0 : Self.answerBytes)
    }

    init(name: StreamName, identity: Identity, number: StreamID, isNamed: Bool) {
        text = name.text
        self.identity = identity
        kind = name.isTopic ? .topic : name.isErased ? .erased : .user
        self.number = number
        self.isNamed = isNamed
    }

    /// The name of its user or topic, or the number of the user who was erased.
    var name: StreamName {
        switch kind {
        case .user: .user(text)
        case .topic: .topic(text)
        case .erased: .erased(number)
        }
    }

    var isTopic: Bool { kind == .topic }

    /// Nothing is appended any more.
    var isErased: Bool { kind == .erased }

    /// The identity by which states know the topic; nil for a user.
    var topic: Identity? { isTopic ? identity : nil }

    var userName: UserName { UserName(text, identity: identity) }

    /// The key of its row in the table of names.
    package var nameKey: [UInt8] { isTopic ? NameTable.key(topic: identity) : NameTable.key(user: text) }

    /// The tray as it was answered last, if it is still so after the head; without a look at the state.
    func answeredTray(asOf head: UInt64, lastTopicEvent: UInt64) -> Tray? {
        guard let answer, let through = answer.topicsThrough, lastTopicEvent <= through else { return nil }
        var tray = answer.tray
        tray.asOf = Seq(head)
        return tray
    }

    /// Keeps the tray of the committed state, which must be up to date.
    ///
    /// - Returns: whether there is such a state.
    func keep(_ tray: Tray) -> Bool {
        guard let state = states.committed else { return false }
        let answer = self.answer ?? Answer(tray)
        (answer.tray, answer.topicsThrough) = (tray, state.state.topics.isEmpty ? .max : state.topicsThrough)
        self.answer = answer
        return true
    }

    /// The user's tray is about to change.
    func forgetTray() { answer?.topicsThrough = nil }
}
