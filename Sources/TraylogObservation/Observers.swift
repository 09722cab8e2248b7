import TraylogDomain
import TraylogLog
import TraylogWriter

/// The signals of a hub, by what raises them.
struct Observers {
    /// A user whose tray is observed.
    private struct Observed {
        /// The user's stream; nil until it is looked up, and for a user without events.
        var stream: StreamID?
        /// Most users have one observer, which needs no list.
        var first: Signal
        var others: [Signal] = []

        var signals: [Signal] { [first] + others }

        /// - Returns: false, and nothing is removed, for the last one.
        mutating func remove(_ signal: Signal) -> Bool {
            if first === signal {
                guard let next = others.popLast() else { return false }
                first = next
            } else {
                others.removeAll { $0 === signal }
            }
            return true
        }
    }

    /// The observed users.
    ///
    /// Two users with equal identities would only wake each other in vain.
    private var users: [Identity: Observed] = [:]
    private var identities: [StreamID: Identity] = [:]
    private var followers: [ObjectIdentifier: Signal] = [:]
    /// The names of users whose stream was not looked up yet.
    private var unresolved: [Identity: String] = [:]
    /// The names of users who had no stream when it was looked up.
    private var strangers: [Identity: String] = [:]

    var isEmpty: Bool { users.isEmpty && followers.isEmpty }
    var count: Int { all.count }
    var all: [Signal] { trays + followers.values }
    private var trays: [Signal] { users.values.flatMap(\.signals) }

    /// Adds an observer of a user.
    ///
    /// - Parameter name: by which the user's stream is looked up; nil where commits say whom they concern.
    mutating func add(_ signal: Signal, of identity: Identity, named name: String?) {
        if let index = users.index(forKey: identity) {
            users.values[index].others.append(signal)
        } else {
            users[identity] = Observed(first: signal)
            unresolved[identity] = name
        }
    }

    mutating func remove(_ signal: Signal, of identity: Identity) {
        guard let index = users.index(forKey: identity), !users.values[index].remove(signal) else { return }
        if let stream = users.remove(at: index).value.stream { identities[stream] = nil }
        unresolved[identity] = nil
        strangers[identity] = nil
    }

    mutating func add(follower signal: Signal) { followers[ObjectIdentifier(signal)] = signal }

    mutating func remove(follower signal: Signal) { followers[ObjectIdentifier(signal)] = nil }

    // MARK: By identity

    /// The signals that a commit raises.
    ///
    /// - Complexity: O(events of the commit).
    func signals(of touched: Touched) -> [Signal] {
        guard !touched.topics else { return all }
        var signals = Array(followers.values)
        guard !users.isEmpty else { return signals }
        for identity in touched.users {
            guard let observed = users[identity] else { continue }
            signals.append(observed.first)
            signals += observed.others
        }
        return signals
    }

    // MARK: By stream

    /// The signals that new events raise.
    ///
    /// - Complexity: O(streams touched).
    func signals(of touched: TouchedStreams) -> [Signal] {
        guard !touched.topics, !touched.areCountless else { return all }
        var signals = Array(followers.values)
        for stream in touched.streams {
            guard let identity = identities[stream], let observed = users[identity] else { continue }
            signals.append(observed.first)
            signals += observed.others
        }
        return signals
    }

    /// The users whose streams are to be looked up: new ones and, if asked for, those without a stream.
    func unresolvedUsers(withStrangers: Bool) -> [Identity: String] {
        withStrangers ? unresolved.merging(strangers) { first, _ in first } : unresolved
    }

    /// Notes a user's stream; nil for a user who has none yet.
    ///
    /// - Returns: the signals of the user.
    @discardableResult
    mutating func resolve(_ identity: Identity, user: String, stream: StreamID?) -> [Signal] {
        guard let index = users.index(forKey: identity) else { return [] }
        unresolved[identity] = nil
        strangers[identity] = stream == nil ? user : nil
        users.values[index].stream = stream
        if let stream { identities[stream] = identity }
        return users.values[index].signals
    }
}
