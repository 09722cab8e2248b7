/// The mutes of a user.
public struct Mutes: Hashable, Sendable {
    /// The user whose mutes these are.
    public var user: String
    /// The newest event that the answer reflects.
    public var asOf: Seq
    /// The mute of everything first, then categories, threads and topics, each in the byte order of their names.
    public var mutes: [Mute]

    /// The mutes as a query answers them, for tests and previews.
    package init(user: String, asOf: Seq, mutes: [Mute] = []) {
        self.user = user
        self.asOf = asOf
        self.mutes = mutes
    }
}

/// A mute in force.
public struct Mute: Hashable, Sendable {
    /// The items that do not count when they arrive.
    public var scope: MuteScope
    /// The time when it began; another ``until`` does not change it.
    public var since: Timestamp
    /// The first tick at this time or after it ends the mute; nil when only an `unmute` does.
    public var until: Timestamp?

    /// A mute as a query answers it, for tests and previews.
    package init(scope: MuteScope, since: Timestamp, until: Timestamp? = nil) {
        self.scope = scope
        self.since = since
        self.until = until
    }
}

extension TrayState {
    /// The mutes of this state; names and times come from the log.
    package func mutes(from source: some StateSource) throws -> [Mute] {
        guard !mutes.isEmpty else { return [] }
        return try mutes.entries.map { try $0.mute(from: source) }.sorted { $0.precedes($1) }
    }
}

extension MuteSet.Entry {
    package func mute(from source: some StateSource) throws -> Mute {
        guard case .muted(let scope, let until) = try source.event(by).body else {
            throw PackedError.damaged("a state has a mute that no event names")
        }
        return Mute(scope: scope, since: try source.recordedAt(since), until: until)
    }
}

extension Mute {
    fileprivate func precedes(_ other: Mute) -> Bool {
        switch (scope, other.scope) {
        case (.thread(let name), .thread(let other)), (.category(let name), .category(let other)),
            (.topic(let name), .topic(let other)):
            name.precedesInBytes(other)
        default: scope.rank < other.scope.rank
        }
    }
}

extension MuteScope {
    fileprivate var rank: Int {
        switch self {
        case .all: 0
        case .category: 1
        case .thread: 2
        case .topic: 3
        }
    }
}
